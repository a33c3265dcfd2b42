"""The page with all landed changes of a run, file by file."""

import asyncio
from typing import Annotated

from litestar import Response
from litestar.params import QueryParameter

from punchlist.app.after.branch_state import load_diff
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.api.runs import RunId
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import page
from punchlist.web.pages.run.diff_parts import fit_window, parse_patches
from punchlist.web.problem import Refused

_ROOM = 3000
"""Lines of one page; a file is never split."""


@page("/runs/{run_id:str}/diff")
async def diff(
    request: AnyRequest,
    app: App,
    run_id: RunId,
    start: Annotated[int, QueryParameter(ge=0, le=10**6)] = 0,
) -> Response[str]:
    run = app.find_run(run_id)
    async with app.session_of(run.id) as session:
        text = await load_diff(session, run)
    files = await asyncio.to_thread(parse_patches, text)  # other requests go on
    if start and start >= len(files):
        raise Refused(
            404, f"the diff of run {run.id} has no file {start}", "go back to its beginning"
        )
    return render_page(
        request,
        "diff.html",
        run=run,
        repository=app.repository_of(run),
        files=files,
        window=fit_window(files, start, _ROOM),
    )


ROUTES = (diff,)
