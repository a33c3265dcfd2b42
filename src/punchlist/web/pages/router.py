"""The router of all pages, with their dependencies."""

from litestar import Router

from punchlist.web.api.routes import share
from punchlist.web.pages import assets, fleet, pulls, start_run
from punchlist.web.pages.auth import sign_in
from punchlist.web.pages.home import page as home
from punchlist.web.pages.home.run_lines import GlanceCache
from punchlist.web.pages.item import page as item_page
from punchlist.web.pages.run import actions, compare, diff, live
from punchlist.web.pages.run import page as run_page
from punchlist.web.pages.run.parts import PartCache
from punchlist.web.pages.trends import page as trends
from punchlist.web.state import WebSession

ROUTES = (
    *assets.ROUTES,
    *sign_in.ROUTES,
    *home.ROUTES,
    *start_run.ROUTES,
    *trends.ROUTES,
    *fleet.ROUTES,
    *pulls.ROUTES,
    *run_page.ROUTES,
    *live.ROUTES,
    *item_page.ROUTES,
    *diff.ROUTES,
    *compare.ROUTES,
    *actions.ROUTES,
)


def build_router(app: WebSession) -> Router:
    caches = {"glances": share(GlanceCache(app.store)), "cache": share(PartCache(app.store))}
    return Router("/", route_handlers=list(ROUTES), dependencies=caches)
