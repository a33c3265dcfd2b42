"""The OpenAPI document: the routes as the framework knows them, the values as msgspec reads and
writes them.
"""

from typing import Any

import msgspec
from litestar import Litestar

from punchlist.views.report_document import ItemPart
from punchlist.web import schemas as shapes
from punchlist.web.api.fix_sessions import schemas as fixshapes
from punchlist.web.problem import Problem

_ROOTS = (
    shapes.Answering, shapes.Applying, shapes.ArtifactLine, shapes.Dismissals,
    shapes.Dismissing, shapes.Done, shapes.EventPage, shapes.Health, shapes.ItemPage,
    shapes.Registering, shapes.RepositoryPart, shapes.RunPage, shapes.RunPart, shapes.Sent,
    shapes.Starting, fixshapes.Clarified,
    fixshapes.Clarify, fixshapes.MakePlan, fixshapes.Plan, fixshapes.StartFix, ItemPart, Problem,
)  # fmt: skip


def document(application: Litestar) -> dict[str, Any]:
    made: dict[str, Any] = application.openapi_schema.to_schema()
    _, known = msgspec.json.schema_components(_ROOTS, ref_template="#/components/schemas/{name}")
    made["components"]["schemas"] = dict(sorted(known.items()))
    tidied = _tidied(made)
    return tidied if isinstance(tidied, dict) else {}


def _tidied(part: Any) -> Any:
    """Without made-up examples and empty words; the framework's idea of a list of one kind is put
    right.
    """
    if isinstance(part, list):
        return [_tidied(each) for each in part]
    if not isinstance(part, dict):
        return part
    if (
        part.get("type") == "array"
        and (items := part.get("items", {}).get("oneOf"))
        and {} in items
    ):
        part = {**part, "items": next(each for each in items if each)}
    dull = ("deprecated", "allowEmptyValue", "allowReserved", "examples")
    return {
        key: _tidied(value)
        for key, value in part.items()
        if key not in dull and (key, value) != ("headers", {})
    }
