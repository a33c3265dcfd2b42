"""The form that starts a run."""

import secrets
from functools import cache
from typing import Any

import msgspec
from litestar import Response
from litestar.datastructures import UploadFile
from litestar.params import MultipartBody
from msgspec import Struct

from punchlist.app.access import Role
from punchlist.errors import PunchlistError
from punchlist.model.patch.change import ScopeKind
from punchlist.settings import load_settings
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.api.runs import begin_run
from punchlist.web.pages.rendering import redirect, render_page
from punchlist.web.pages.routes import form_page, get_visitor, page
from punchlist.web.problem import Problem, Refused, make_problem
from punchlist.web.schemas import LARGEST_BODY, Document, Starting
from punchlist.web.state import WebSession
from punchlist.workflow import builtin_names, load_builtin

_KINDS = {
    "": ("automatic", "the branch against its base; everything, where there is no other branch"),
    ScopeKind.BRANCH.value: (
        "The branch",
        "what it changes, against the base below or the main branch",
    ),
    ScopeKind.ALL.value: ("Everything", "all files at the checked-out commit"),
    ScopeKind.STAGED.value: ("What is staged", "the index, against the checked-out commit"),
    ScopeKind.COMMIT.value: ("One commit", "the one named below"),
}
_DEFAULT = "proven"


class WorkflowChoice(Struct, frozen=True):
    name: str
    about: str


@page("/repositories/{repository_id:str}/start", Role.RUN)
async def start_page(request: AnyRequest, app: App, repository_id: str) -> Response[str]:
    return _render_form(request, app, repository_id, {}, None)


@form_page("/repositories/{repository_id:str}/start", largest=LARGEST_BODY)
async def start(
    request: AnyRequest, app: App, repository_id: str, data: MultipartBody[dict[str, Any]]
) -> Response[Any]:
    """Start the run; on an error show the form again with the values typed."""
    app.find_repository(repository_id)
    try:
        asked = await _parse_form(repository_id, data)
        run = await begin_run(app, asked, get_visitor(request).role, str(data.get("key", ""))[:100])
    except Refused as error:
        return _render_form(request, app, repository_id, data, error.to_problem(""))
    except PunchlistError as error:
        return _render_form(request, app, repository_id, data, make_problem(error, ""))
    return redirect(request, f"/runs/{run}")


async def _parse_form(repository: str, data: dict[str, Any]) -> Starting:
    limits = {name: _parse_number(data, name) for name in ("max_seconds", "max_dollars")}
    limits["max_seconds"] *= 60
    texts = ("workflow", "base", "commit", "notes")
    words = {name: str(data.get(name, "")).strip() for name in texts}
    given = {
        "repository_id": repository,
        "kind": str(data.get("kind", "")) or None,
        "paths": str(data.get("paths", "")).split(),
        "specification": str(data.get("specification", "")).split(),
        "agents": _list_values(data.get("agents")),
        "allow_checks": data.get("allow_checks") == "on",
        "force": data.get("force") == "on",
        **words,
        **limits,
    }
    findings = [await _read_upload(each) for each in _list_uploads(data.get("findings"))]
    try:
        return msgspec.structs.replace(
            msgspec.convert(given, Starting),
            findings=tuple(msgspec.convert(findings, list[Document])),
        )
    except msgspec.ValidationError as error:
        what = f"this is not understood: {error}"
        raise Refused(400, what, "put it right, and start again") from error


def _parse_number(data: dict[str, Any], name: str) -> float:
    text = str(data.get(name, "")).strip()
    try:
        return float(text or 0)
    except ValueError as error:
        raise Refused(400, f'"{text}" is no number', "leave a limit empty for none") from error


def _list_values(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value] if value else []
    return [str(each) for each in values]


def _list_uploads(value: object) -> list[UploadFile]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, UploadFile) and each.filename]


async def _read_upload(file: UploadFile) -> dict[str, str]:
    """Return name and content; the name is reduced to a safe last part."""
    name = "".join(
        c if c.isascii() and (c.isalnum() or c in "._-") else "-"
        for c in file.filename.replace("\\", "/").rpartition("/")[2]
    )
    return {
        "name": name.lstrip("._-")[-80:] or "findings",
        "content": (await file.read()).decode("utf-8", "replace"),
    }


def _render_form(
    request: AnyRequest,
    app: WebSession,
    repository_id: str,
    typed: dict[str, Any],
    wrong: Problem | None,
) -> Response[str]:
    text = {name: value for name, value in typed.items() if isinstance(value, str)}
    return render_page(
        request,
        "start.html",
        wrong.status if wrong else 200,
        repository=app.find_repository(repository_id),
        workflows=_list_workflows(),
        chosen=text.get("workflow") or _DEFAULT,
        kinds=_KINDS,
        agents=load_settings(None, app.options.flags).settings.agents.use,
        asked=_list_values(typed.get("agents")),
        typed={"kind": "", **text},
        key=secrets.token_urlsafe(12),
        wrong=wrong,
    )


@cache
def _list_workflows() -> tuple[WorkflowChoice, ...]:
    """Return the built-in workflows, the default first."""
    names = sorted(builtin_names(), key=lambda name: (name != _DEFAULT, name))
    return tuple(WorkflowChoice(name, load_builtin(name).about) for name in names)


ROUTES = (start_page, start)
