"""A run for tests that care about a part of it only."""

from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind

STARTED = ev.Started(
    repository="r.git", change=Change(kind=ScopeKind.ALL, base="base", head="base"), workflow_name="mine", workflow="",
    settings="{}", reviewers=(), checks=(), checks_allowed=False, version="0",
)  # fmt: skip


def made_run(id: str = "r", **parts) -> Run:  # noqa: A002 - as the field is called
    return Run(id=id, **{"started": STARTED, **parts})
