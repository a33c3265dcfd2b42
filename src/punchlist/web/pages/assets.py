"""The few files that pages need beside themselves: all of them shipped, none from elsewhere."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from litestar import Response

from punchlist.web.pages.routes import open_page
from punchlist.web.problem import Refused

_FOLDER = Path(__file__).with_name("static")
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
_FOR_GOOD = {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
}


@cache
def address(name: str) -> str:
    """With what it holds in its address: a browser may keep it for good, and never keeps an old
    one.
    """
    return f"/static/{sha256(_files()[name]).hexdigest()[:12]}/{name}"


@open_page("/static/{mark:str}/{name:str}", sync_to_thread=False)
def static(mark: str, name: str) -> Response[bytes]:
    """Only what is shipped: no path is made of what was asked for."""
    if name not in _files() or address(name) != f"/static/{mark}/{name}":
        raise Refused(404, "there is no such file", next_="open the page again")
    kind = _TYPES[Path(name).suffix]
    return Response(_files()[name], media_type=kind, headers=_FOR_GOOD)


@open_page("/favicon.ico", sync_to_thread=False)
def icon() -> Response[bytes]:
    return Response(
        _files()["icon.svg"],
        media_type="image/svg+xml",
        headers={"cache-control": "public, max-age=86400"},
    )


@cache
def _files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _TYPES}


ROUTES = (static, icon)
