"""Let an analyzer, or a document of findings, review a commit."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Reviewed
from punchlist.model.ledger.run import Run
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.support.caused_findings import WithCaused, find_caused
from punchlist.steps.support.project_context import select_analyzed


class Analyze(Struct, frozen=True):
    reviewer: str
    commit: str
    place: str


async def run_analyzer(task: Analyze, run: Run, world: World) -> Reviewed:
    reviewer = world.analyzers.get(task.reviewer) or world.documents[task.reviewer]
    began = world.clock()
    # Nothing steers a document, and the files it is about must be in the tree.
    steering = world.protected.steering if task.reviewer in world.analyzers else ()
    pristine = Pristine(origin=world.change.base, alone=steering)
    lent = world.trees.open_tree(task.commit, pristine=pristine, shared=reviewer.confined)
    async with lent as tree:
        paths = select_analyzed(run, world, tree)
        analysis = await reviewer.analyze(tree, paths)
    reported = WithCaused(analysis.findings)
    if task.reviewer in world.analyzers:
        reported = await find_caused(reviewer, analysis, paths, run, world)
    findings = number_findings(reported.findings, f"{task.place}/{task.reviewer}")
    return Reviewed(
        reviewer=task.reviewer,
        commit=task.commit,
        findings=findings,
        caused=tuple(findings[index].id for index in reported.caused),
        old=tuple(findings[index].id for index in reported.old),
        refused=analysis.refused,
        looked_at=analysis.looked_at,
        failed=analysis.failed,
        skipped=analysis.skipped,
        unread=analysis.unread,
        missed=analysis.missed,
        left_out=analysis.left_out,
        left_out_by=analysis.left_out_by,
        given=analysis.looked is None and analysis.looked_at > 0,
        usage=Usage(seconds=world.clock() - began),
    )


def number_findings(findings: Sequence[Finding], prefix: str) -> tuple[Finding, ...]:
    numbered = enumerate(findings)
    return tuple(replace(finding, id=f"{prefix}:{number}") for number, finding in numbered)
