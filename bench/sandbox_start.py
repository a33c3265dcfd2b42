"""What the sandbox adds to the start of a child: each kind beside the bare process, in turn.

python bench/sandbox_start.py [--turns N]
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox.profiles import PROFILES
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import probe_support

_GOAL = 20.0
_BARE = "bare"


async def measure(walls: Sandbox | None, folder: Path) -> tuple[float, float]:
    """Return milliseconds of real time, and of processor time with that of the children."""
    began, used = time.perf_counter(), os.times()
    ran = await run(["/bin/true"], origin=Origin.USERS, cwd=folder, walls=walls)
    real, now = time.perf_counter() - began, os.times()
    if not ran.ok:
        raise SystemExit(f"a child failed: {ran.trouble}")
    return real * 1000, (sum(now[:4]) - sum(used[:4])) * 1000


async def main(turns: int) -> None:
    support = probe_support()
    print(
        f"bubblewrap: {support.program or 'none'}; lacks: {', '.join(support.lacks) or 'nothing'}"
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kinds: dict[str, Sandbox | None] = {_BARE: None}
        kinds |= {kind: Sandbox(kind=kind, writable=(folder,)) for kind in PROFILES}
        times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
        for _ in range(turns):
            for kind, walls in kinds.items():
                times[kind].append(await measure(walls, folder))
    bare = _middle(times[_BARE])
    print(
        f"{'child':12} {'best':>7} {'median':>7} {'processor':>9} {'adds':>6} {'x bare':>7}   in ms"
    )
    for kind, taken in times.items():
        best, median, used = _middle(taken)
        ratio = used / bare[2] if bare[2] else 0
        print(f"{kind:12} {best:7.1f} {median:7.1f} {used:9.1f} {used - bare[2]:6.1f} {ratio:7.1f}")
    worst = max(_middle(taken)[2] for taken in times.values()) - bare[2]
    verdict = "met" if worst < _GOAL else "NOT met"
    print(f"the goal is under {_GOAL:g} ms of processor time added: {verdict} ({worst:.1f})")


def _middle(taken: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Return the best and the median real time, and the mean processor time."""
    real = [each for each, _ in taken]
    return min(real), statistics.median(real), statistics.mean(used for _, used in taken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    asyncio.run(main(parser.parse_args().turns))
