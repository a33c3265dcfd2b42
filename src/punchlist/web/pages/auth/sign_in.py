"""Pages to sign in and out."""

from typing import Annotated, Any

from litestar import Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import QueryParameter, URLEncodedBody
from msgspec import Meta, Struct

from punchlist.web.api.routes import AnyRequest
from punchlist.web.pages.rendering import HEADERS, redirect, render_page
from punchlist.web.pages.routes import open_form, open_page
from punchlist.web.security.sessions import LASTS, Sessions, cookie_name
from punchlist.web.security.tokens import Visitor

Entrance = NamedDependency[Sessions]
_Text = Annotated[str, Meta(max_length=2000)]
_Query = Annotated[str, QueryParameter(max_length=2000)]


class SignInForm(Struct, frozen=True, kw_only=True):
    token: _Text = ""
    code: _Text = ""
    next: _Text = "/"


@open_page("/sign-in", sync_to_thread=False)
def sign_in_page(
    request: AnyRequest,
    code: _Query = "",
    next_: Annotated[str, QueryParameter(name="next", max_length=2000)] = "/",
) -> Response[str]:
    """Show the form. The code is used only when it is posted, not by link previews."""
    return render_page(request, "sign_in.html", code=code, next=sanitize_path(next_), wrong="")


@open_form("/sign-in", sync_to_thread=False)
def sign_in(
    request: AnyRequest, entrance: Entrance, data: URLEncodedBody[SignInForm]
) -> Response[Any]:
    path = sanitize_path(data.next)
    if data.code:
        visitor = entrance.redeem_code(data.code)
        wrong = "This link was used, or is older than ten minutes."
    else:
        visitor = entrance.tokens.find_visitor(data.token.strip())
        wrong = "This token is not known here."
    if visitor is None:
        return render_page(request, "sign_in.html", 403, code="", next=path, wrong=wrong)
    answer = redirect(request, path)
    _set_cookie(request, answer, entrance.issue_cookie(visitor), LASTS)
    return answer


@open_form("/sign-out", sync_to_thread=False)
def sign_out(request: AnyRequest, entrance: Entrance) -> Response[Any]:
    entrance.end_session(dict(request.scope))
    answer = redirect(request, "/sign-in")
    _set_cookie(request, answer, "", 0)
    return answer


@open_page("/session", sync_to_thread=False)
def run_session(request: AnyRequest) -> Response[None]:
    """Say in a header whether the browser is signed in: links from other sites bring no cookie."""
    known = "yes" if isinstance(request.scope.get("user"), Visitor) else "no"
    return Response(None, status_code=200, headers={**HEADERS, "x-signed-in": known})


def sanitize_path(path: str) -> str:
    """Return the path if it is a page of this server, else "/"."""
    plain = path.isascii() and path.isprintable() and "\\" not in path and " " not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"


def _set_cookie(request: AnyRequest, answer: Response[Any], value: str, seconds: int) -> None:
    """Set the session cookie; `secure` if the page's origin is https."""
    secure = request.headers.get("origin", "").startswith("https:")
    name = cookie_name(dict(request.scope))
    answer.set_cookie(
        Cookie(name, value=value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
    )


ROUTES = (sign_in_page, sign_in, sign_out, run_session)
