"""Every page that a person can open is told of in the guide."""

import re
from pathlib import Path

import pytest

pytest.importorskip("litestar")
from punchlist.web.pages import router

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "dashboard.md").read_text("utf-8")
PARTS = {
    "/favicon.ico",
    "/runs",
    "/session",
    "/runs/{id}/live",
    "/runs/{id}/parts",
    "/static/{mark}/{name}",
}
"""What pages fetch by themselves; nobody goes there."""


def spelled(path: str) -> str:
    return re.sub(r"\{(?:run_|repository_)?(\w+):\w+\}", r"{\1}", path)


PAGES = sorted(
    {
        spelled(path)
        for route in router.ROUTES
        if "GET" in route.http_methods
        for path in route.paths
    }
    - PARTS
)


@pytest.mark.parametrize("address", PAGES)
def test_every_page_is_in_the_guide(address):
    assert f"`{address}`" in GUIDE or f"`{address}?" in GUIDE


def test_what_is_no_page_is_there_all_the_same():
    assert {spelled(path) for route in router.ROUTES for path in route.paths} >= PARTS
