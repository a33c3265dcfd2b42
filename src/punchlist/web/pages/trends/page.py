"""The page of a repository over time: charts, and tables with the same figures."""

from litestar import Response

from punchlist.app.after.trends import RUNS
from punchlist.views.words import format_dollars
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import page
from punchlist.web.pages.trends.charts import draw_items, draw_values
from punchlist.web.pages.words import parse_page

_MOST = 1000


@page("/repositories/{repository_id:str}/trends")
async def trends_page(request: AnyRequest, app: App, repository_id: str) -> Response[str]:
    repository = app.find_repository(repository_id)
    asked = parse_page(request.query_params.get("runs", ""))
    limit = min(asked, _MOST) if "runs" in request.query_params else RUNS
    trends = await app.load_trends(repository, max(1, limit))
    points = trends.runs
    return render_page(
        request,
        "trends.html",
        repository=repository,
        trends=trends,
        limit=limit,
        items=draw_items(points),
        cost=draw_values(points, "filed", lambda point: point.dollars, format_dollars),
        refuted=draw_values(points, "blocked", lambda point: point.refuted, "{:,.0f}".format),
    )


ROUTES = (trends_page,)
