"""Static files of the pages; all are shipped with the package."""

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
def asset_url(name: str) -> str:
    """Return the URL with the file's hash, so that browsers may cache it for good."""
    return f"/static/{sha256(_load_files()[name]).hexdigest()[:12]}/{name}"


@open_page("/static/{mark:str}/{name:str}", sync_to_thread=False)
def static(mark: str, name: str) -> Response[bytes]:
    """Serve shipped files only; the request's text is never used as a path."""
    if name not in _load_files() or asset_url(name) != f"/static/{mark}/{name}":
        raise Refused(404, "there is no such file", "open the page again")
    kind = _TYPES[Path(name).suffix]
    return Response(_load_files()[name], media_type=kind, headers=_FOR_GOOD)


@open_page("/favicon.ico", sync_to_thread=False)
def icon() -> Response[bytes]:
    return Response(
        _load_files()["icon.svg"],
        media_type="image/svg+xml",
        headers={"cache-control": "public, max-age=86400"},
    )


@cache
def _load_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _TYPES}


ROUTES = (static, icon)
