"""The form that starts a run."""

import re
import secrets
from functools import cache
from typing import Any

import msgspec
from litestar import Response
from litestar.datastructures import UploadFile
from litestar.params import MultipartBody
from msgspec.structs import replace

from punchlist.app.access import Role
from punchlist.app.agents.choices import AgentChoice, list_agents
from punchlist.errors import PunchlistError
from punchlist.settings import load_settings
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.api.runs import begin_run
from punchlist.web.pages.rendering import redirect, render_page
from punchlist.web.pages.routes import form_page, get_visitor, page
from punchlist.web.problem import Problem, Refused, make_problem
from punchlist.web.schemas import LARGEST_BODY, Document, Starting
from punchlist.web.state import WebSession
from punchlist.workflow.loader import builtin_names, load_builtin

_DEFAULT = "proven"


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
        run = await begin_run(
            app, asked, get_visitor(request).role, str(data.get("key", "")).replace("\0", "")[:100]
        )
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
        documents = tuple(msgspec.convert(findings, list[Document]))
        return replace(msgspec.convert(given, Starting), findings=documents)
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
    last = file.filename.replace("\\", "/").rpartition("/")[2]
    name = re.sub(r"[^A-Za-z0-9._-]", "-", last).lstrip("._-")[-80:] or "findings"
    return {"name": name, "content": (await file.read()).decode("utf-8", "replace")}


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
        agents=_list_agents(request, app),
        asked=_list_values(typed.get("agents")),
        typed={"kind": "", **text},
        key=secrets.token_urlsafe(12),
        wrong=wrong,
    )


def _list_agents(request: AnyRequest, app: WebSession) -> list[AgentChoice]:
    """Return the agents that the user may choose: without the role admin, those in use."""
    choices = list_agents(load_settings(None, app.options.flags).settings)
    every = get_visitor(request).role.includes(Role.ADMIN)
    return [each for each in choices if each.used or every]


@cache
def _list_workflows() -> dict[str, str]:
    """Return what the built-in workflows are about, by name, the default first."""
    names = sorted(builtin_names(), key=lambda name: (name != _DEFAULT, name))
    return {name: load_builtin(name).about for name in names}


ROUTES = (start_page, start)
