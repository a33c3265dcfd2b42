"""Signing in and out."""

from typing import Annotated, Any

from litestar import Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body, QueryParameter
from msgspec import Meta, Struct

from punchlist.web.pages.rendering import HEADERS, onward, shown
from punchlist.web.pages.routes import Asking, open_form, open_page
from punchlist.web.security.sessions import LASTS, Entrance, cookie_name
from punchlist.web.security.tokens import Visitor

AtEntrance = NamedDependency[Entrance]
_Text = Annotated[str, Meta(max_length=2000)]
_Query = Annotated[str, QueryParameter(max_length=2000)]


class SigningIn(Struct, frozen=True, kw_only=True):
    token: _Text = ""
    code: _Text = ""
    next: _Text = "/"


@open_page("/sign-in", sync_to_thread=False)
def sign_in_page(
    request: Asking,
    code: _Query = "",
    next_: Annotated[str, QueryParameter(name="next", max_length=2000)] = "/",
) -> Response[str]:
    """A code is only used up by the form: whoever fetches a link beforehand spends nothing."""
    return shown(request, "sign_in.html", code=code, next=inside(next_), wrong="")


@open_form("/sign-in", sync_to_thread=False)
def sign_in(
    request: Asking,
    entrance: AtEntrance,
    data: Annotated[SigningIn, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    visitor = (
        entrance.by_code(data.code) if data.code else entrance.tokens.visitor(data.token.strip())
    )
    if visitor is None:
        wrong = (
            "This link was used, or is older than ten minutes."
            if data.code
            else "This token is not known here."
        )
        return shown(request, "sign_in.html", 403, code="", next=inside(data.next), wrong=wrong)
    answer = onward(request, inside(data.next))
    _keep(request, answer, entrance.cookie(visitor), LASTS)
    return answer


@open_form("/sign-out", sync_to_thread=False)
def sign_out(request: Asking) -> Response[Any]:
    answer = onward(request, "/sign-in")
    _keep(request, answer, "", 0)
    return answer


@open_page("/session", sync_to_thread=False)
def session(request: Asking) -> Response[None]:
    """Whether this browser is signed in: links from elsewhere come without the cookie, and our own
    page may ask again.
    """
    known = isinstance(request.scope.get("user"), Visitor)
    return Response(
        None, status_code=200, headers={**HEADERS, "x-signed-in": "yes" if known else "no"}
    )


def inside(path: str) -> str:
    """Where to go on: a page of ours, or the first one."""
    plain = path.isascii() and path.isprintable() and "\\" not in path and " " not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"


def _keep(request: Asking, answer: Response[Any], value: str, seconds: int) -> None:
    """The page's own address says whether there is TLS in front of us."""
    secure = request.headers.get("origin", "").startswith("https:")
    name = cookie_name(request.scope.get("server"))
    answer.set_cookie(
        Cookie(name, value=value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
    )


ROUTES = (sign_in_page, sign_in, sign_out, session)
