"""The router of all pages, with their dependencies."""

from litestar import Router
from litestar.di import Provide

from punchlist.web.pages import assets
from punchlist.web.pages import start_run as starting
from punchlist.web.pages.auth import sign_in
from punchlist.web.pages.home import page as home
from punchlist.web.pages.home.run_lines import GlanceCache
from punchlist.web.pages.item import page as item_page
from punchlist.web.pages.run import actions as acts
from punchlist.web.pages.run import compare, live
from punchlist.web.pages.run import diff as diff_page
from punchlist.web.pages.run import page as run_page
from punchlist.web.pages.run.parts import PartCache
from punchlist.web.state import WebSession

ROUTES = (
    *assets.ROUTES,
    *sign_in.ROUTES,
    *home.ROUTES,
    *starting.ROUTES,
    *run_page.ROUTES,
    *live.ROUTES,
    *item_page.ROUTES,
    *diff_page.ROUTES,
    *compare.ROUTES,
    *acts.ROUTES,
)


def build_router(desk: WebSession) -> Router:
    glances, shelf = GlanceCache(desk.store), PartCache(desk.store)
    return Router(
        "/",
        route_handlers=list(ROUTES),
        include_in_schema=False,
        dependencies={
            "glances": Provide(lambda: glances, sync_to_thread=False),
            "shelf": Provide(lambda: shelf, sync_to_thread=False),
        },
    )
