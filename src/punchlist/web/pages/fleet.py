"""The page of all processes of the store."""

from litestar import Response

from punchlist.views.tables.fleet import NO_FLEET
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import page


@page("/fleet")
async def fleet_page(request: AnyRequest, app: App) -> Response[str]:
    fleet = await app.load_fleet()
    runs = (
        *(("stuck", run) for run in fleet.stuck),
        *(("running", run) for run in fleet.running),
        *(("waiting for an answer", run) for run in fleet.waiting),
        *(("stopped", run) for run in fleet.stopped),
    )
    return render_page(request, "fleet.html", fleet=fleet, runs=runs, no_fleet=NO_FLEET)


ROUTES = (fleet_page,)
