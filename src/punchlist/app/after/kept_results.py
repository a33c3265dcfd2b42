"""Remove the results of runs that were kept for longer than the settings say."""

import asyncio
import time

from punchlist.app.start.results import make_results
from punchlist.errors import StoreError
from punchlist.model.ledger.timeline import pluralize
from punchlist.settings import KeepSettings

_DAY = 86400


async def remove_kept(keep: KeepSettings) -> list[str]:
    """Remove the results that are older than `days`; return what was done or failed, a line or
    none.
    """
    store = make_results(keep)
    if store is None:
        return []
    before = time.time() - keep.days * _DAY

    def remove_old() -> list[str]:
        old = sorted(run for run, written in store.list_runs().items() if written < before)
        for run in old:
            store.remove(run)
        return old

    try:
        gone = await asyncio.to_thread(remove_old)
    except StoreError as error:
        return [f"old results were not removed: {error}"]
    runs = f"{pluralize(len(gone), 'run')} from {keep.to}: {', '.join(gone)}"
    return [f"removed the results of {runs}"] if gone else []
