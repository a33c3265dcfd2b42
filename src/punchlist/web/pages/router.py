"""All pages in one router, with what they share."""

from litestar import Router
from litestar.di import Provide

from punchlist.web.desk import Desk
from punchlist.web.pages import acts, assets, compare, diff_page, home, item_page, live, run_page, sign_in, starting
from punchlist.web.pages.glances import Glances
from punchlist.web.pages.run_parts import Shelf

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


def router(desk: Desk) -> Router:
    glances, shelf = Glances(desk.store), Shelf(desk.store)
    return Router(
        "/",
        route_handlers=list(ROUTES),
        include_in_schema=False,
        dependencies={
            "glances": Provide(lambda: glances, sync_to_thread=False),
            "shelf": Provide(lambda: shelf, sync_to_thread=False),
        },
    )
