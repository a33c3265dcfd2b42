"""The OpenAPI document: routes from the framework, schemas from msgspec."""

from typing import Any

import msgspec
from litestar import Litestar

from punchlist.views.report_document import ItemPart
from punchlist.views.tables.fleet import Fleet
from punchlist.views.tables.trends import Trends
from punchlist.web import schemas as shapes
from punchlist.web.api.fix_sessions import schemas as fixshapes
from punchlist.web.problem import Problem

_ROOTS = (
    shapes.Answering, shapes.Applying, shapes.ArtifactLine, shapes.Dismissals,
    shapes.Dismissing, shapes.Done, shapes.EventPage, shapes.Health, shapes.ItemPage,
    shapes.Registering, shapes.RepositoryPart, shapes.RunPage, shapes.RunPart, shapes.Sent,
    shapes.Starting, fixshapes.Clarified,
    fixshapes.Clarify, fixshapes.MakePlan, fixshapes.Plan, fixshapes.StartFix, ItemPart, Problem,
    Fleet, Trends,
)  # fmt: skip


def build_document(application: Litestar) -> dict[str, Any]:
    made: dict[str, Any] = application.openapi_schema.to_schema()
    _, known = msgspec.json.schema_components(_ROOTS, ref_template="#/components/schemas/{name}")
    made["components"]["schemas"] = dict(sorted(known.items()))
    tidied = _tidy_schema(made)
    return tidied if isinstance(tidied, dict) else {}


def _tidy_schema(part: Any) -> Any:
    """Remove examples and empty parts; correct the framework's schema of lists."""
    if isinstance(part, list):
        return [_tidy_schema(each) for each in part]
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
        key: _tidy_schema(value)
        for key, value in part.items()
        if key not in dull and (key, value) != ("headers", {})
    }
