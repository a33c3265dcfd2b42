"""The form that starts a run."""

import secrets
from functools import cache
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.datastructures import UploadFile
from litestar.enums import RequestEncodingType
from litestar.params import Body
from msgspec import Struct

from punchlist.app.access import Role
from punchlist.errors import PunchlistError
from punchlist.model.patch.change import ScopeKind
from punchlist.settings import load
from punchlist.web.api.routes import AtDesk
from punchlist.web.api.runs import begun
from punchlist.web.pages.rendering import onward, shown
from punchlist.web.pages.routes import Asking, acting, page, visitor_of
from punchlist.web.problem import Problem, Refused, problem_of
from punchlist.web.schemas import LARGEST_BODY, Document, Starting
from punchlist.web.state import Desk
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


class Workflow(Struct, frozen=True):
    name: str
    about: str


@page("/repositories/{repository_id:str}/start", Role.RUN)
async def start_page(request: Asking, desk: AtDesk, repository_id: str) -> Response[str]:
    return _form(request, desk, repository_id, {}, None)


@acting("/repositories/{repository_id:str}/start", request_max_body_size=LARGEST_BODY)
async def start(
    request: Asking,
    desk: AtDesk,
    repository_id: str,
    data: Annotated[dict[str, Any], Body(media_type=RequestEncodingType.MULTI_PART)],
) -> Response[Any]:
    """What is wrong is said above the form, which keeps what was typed."""
    desk.repository(repository_id)
    try:
        asked = await _asked(repository_id, data)
        run = await begun(desk, asked, visitor_of(request).role, str(data.get("key", ""))[:100])
    except Refused as error:
        return _form(request, desk, repository_id, data, error.problem(""))
    except PunchlistError as error:
        return _form(request, desk, repository_id, data, problem_of(error, ""))
    return onward(request, f"/runs/{run}")


async def _asked(repository: str, data: dict[str, Any]) -> Starting:
    limits = {name: _number(data, name) for name in ("max_seconds", "max_dollars")}
    limits["max_seconds"] *= 60
    words = {
        name: str(data.get(name, "")).strip() for name in ("workflow", "base", "commit", "notes")
    }
    given = {
        "repository_id": repository,
        "kind": str(data.get("kind", "")) or None,
        "paths": str(data.get("paths", "")).split(),
        "specification": str(data.get("specification", "")).split(),
        "agents": _several(data.get("agents")),
        "allow_checks": data.get("allow_checks") == "on",
        "force": data.get("force") == "on",
        **words,
        **limits,
    }
    findings = [await _document(each) for each in _files(data.get("findings"))]
    try:
        return msgspec.structs.replace(
            msgspec.convert(given, Starting),
            findings=tuple(msgspec.convert(findings, list[Document])),
        )
    except msgspec.ValidationError as error:
        raise Refused(
            400, f"this is not understood: {error}", next_="put it right, and start again"
        ) from error


def _number(data: dict[str, Any], name: str) -> float:
    text = str(data.get(name, "")).strip()
    try:
        return float(text or 0)
    except ValueError as error:
        raise Refused(
            400, f'"{text}" is no number', next_="leave a limit empty for none"
        ) from error


def _several(value: object) -> list[str]:
    return (
        [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    )


def _files(value: object) -> list[UploadFile]:
    return [
        each
        for each in (value if isinstance(value, list) else [value])
        if isinstance(each, UploadFile) and each.filename
    ]


async def _document(file: UploadFile) -> dict[str, str]:
    """The name says of what kind it is; what stands before its last slash is the browser's
    business.
    """
    name = "".join(
        c if c.isascii() and (c.isalnum() or c in "._-") else "-"
        for c in file.filename.replace("\\", "/").rpartition("/")[2]
    )
    return {
        "name": name.lstrip("._-")[-80:] or "findings",
        "content": (await file.read()).decode("utf-8", "replace"),
    }


def _form(
    request: Asking, desk: Desk, repository_id: str, typed: dict[str, Any], wrong: Problem | None
) -> Response[str]:
    text = {name: value for name, value in typed.items() if isinstance(value, str)}
    return shown(
        request,
        "start.html",
        wrong.status if wrong else 200,
        repository=desk.repository(repository_id),
        workflows=_workflows(),
        chosen=text.get("workflow") or _DEFAULT,
        kinds=_KINDS,
        agents=load(None, desk.options.flags).settings.agents.use,
        asked=_several(typed.get("agents")),
        typed={"kind": "", **text},
        key=secrets.token_urlsafe(12),
        wrong=wrong,
    )


@cache
def _workflows() -> tuple[Workflow, ...]:
    """The one that is used where nobody says otherwise comes first."""
    names = sorted(builtin_names(), key=lambda name: (name != _DEFAULT, name))
    return tuple(Workflow(name, load_builtin(name).about) for name in names)


ROUTES = (start_page, start)
