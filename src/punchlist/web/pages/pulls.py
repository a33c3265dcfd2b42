"""The page of pull requests."""

from litestar import Response

from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import page


@page("/pulls")
async def pulls_page(request: AnyRequest, app: App) -> Response[str]:
    pulls = await app.load_pulls()
    return render_page(request, "pulls.html", pulls=pulls, notices=await app.load_notices())


ROUTES = (pulls_page,)
