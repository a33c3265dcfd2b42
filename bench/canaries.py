"""How well a challenger tells good fixes from bad ones, measured with patches whose worth is known.

    python bench/canaries.py                    # simulated challengers, whose true rates are known
    python bench/canaries.py --agent NAME       # an agent of your settings; it costs what twelve calls cost

The simulated ones show what the figures are worth: with a dozen canaries the interval is wide, and says so; with more judgements of
the same kind it closes in on the truth.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from punchlist.app.start.agents import RunAgents
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.canaries import CANARIES
from punchlist.model.integrity.wilson_interval import compute_share
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import Item, Status
from punchlist.model.item.score import lowest_scores
from punchlist.model.patch.patch import Patch, splices_between
from punchlist.model.patch.unified_diff import render_diff
from punchlist.ports.roles import Background, Exhibit, RoleTask
from punchlist.settings import load_settings
from punchlist.steps.support.canary_planting import count_scores

RATES = ((0.95, 0.95), (0.8, 0.9), (0.5, 1.0), (0.0, 1.0))
"""Share of bad fixes refused, share of good ones approved."""


def simulated(rounds: int, seed: int) -> None:
    luck = random.Random(seed)
    print(
        "| challenger: refuses bad, approves good | one set of canaries | the same, over all rounds | the truth is inside |"
    )
    print("|---|---|---|---|")
    for refuses, approves in RATES:

        def says(canary, refuses=refuses, approves=approves):
            return luck.random() < approves if canary.good else luck.random() >= refuses

        once = count_scores([(canary, says(canary)) for canary in CANARIES])
        many = count_scores([(canary, says(canary)) for _ in range(rounds) for canary in CANARIES])
        refused, approved = (
            compute_share(many.refused, many.bad),
            compute_share(many.approved, many.good),
        )
        inside = (
            refused.low <= refuses <= refused.high and approved.low <= approves <= approved.high
        )
        print(
            f"| {refuses:.0%}, {approves:.0%} | {once} | refused {refused}, approved {approved} | {'yes' if inside else 'NO'} |"
        )


async def real(name: str) -> None:
    settings = load_settings(None, {"agents.use": name}).settings
    with tempfile.TemporaryDirectory(prefix="punchlist-canaries-") as folder:
        home = Path(folder) / "runs" / "bench"
        stage = RunAgents({"challenger": (name,)}, settings, home)
        challenger = stage.make_crew(lambda *_: None).challenger
        said = []
        for number, canary in enumerate(CANARIES, 1):
            root = Path(folder) / f"tree-{number}"
            (root / canary.path).parent.mkdir(parents=True)
            (root / canary.path).write_text(canary.after)
            said.append((canary, await judged(challenger, number, canary, Tree(root))))
            print(
                f"{'good' if canary.good else 'bad '} {'approved' if said[-1][1] else 'refused '} {canary.title}",
                flush=True,
            )
    print(f"\n{name}: {count_scores(said)}")


class Tree:
    """A folder as a challenger is lent it."""

    def __init__(self, root: Path) -> None:
        self.root, self.commit = root, "bench"

    def text(self, path):
        return (self.root / path).read_text()

    def files(self):
        return sorted(
            str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()
        )


async def judged(challenger, number, canary, tree) -> bool:
    finding = Finding(
        id=f"canary:{number}", source="technical", title=canary.title, detail=canary.detail, spot=Spot(canary.path, canary.line),
        severity=Severity.MAJOR,
    )  # fmt: skip
    item = Item(number=number, fingerprint=str(number), findings=(finding,), status=Status.CLAIMED)
    batch = Batch(
        number=number, items=(number,), fixer=AGENT, title=canary.title, paths=(canary.path,)
    )
    patch = Patch(tuple(splices_between(canary.path, canary.before, canary.after)))
    exhibit = Exhibit(number, render_diff(patch, {canary.path: canary.before}), (number,))
    task = RoleTask(label=f"canary {number}", items=(item,), told=Background(), batches=(batch,))
    said = await challenger.judge(task, [exhibit], tree)
    if said.failed:
        print(f"  {said.failed}", file=sys.stderr)
    score = lowest_scores(said.scores).get(number)
    return score is not None and score.approves()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agent", default="")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=3)
    chosen = parser.parse_args()
    asyncio.run(real(chosen.agent)) if chosen.agent else simulated(chosen.rounds, chosen.seed)


if __name__ == "__main__":
    main()
