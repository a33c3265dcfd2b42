"""Options, events and results of the fix engine."""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from shlex import join, split

from msgspec import Struct, field

from punchlist.library.json_values import JsonValue
from punchlist.library.review_findings import ReviewFinding
from punchlist.library.unified import Finding
from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.item.claim import ItemClaim
from punchlist.views.fix_report import CycleStatus

_UNPLAIN = re.compile(r"[^\w .=-]+")
_LONGEST_NAME = 60
AnyFinding = Finding | ReviewFinding
VerificationStatus = CycleStatus


class VerificationRunner(Struct, frozen=True):
    """The commands that judge a fix, as texts or lists of arguments; none is run by a shell."""

    commands: Sequence[str | Sequence[str]]
    timeout: float = 1800

    def to_checks(self) -> tuple[Check, ...]:
        """Return the commands as checks of a run; two equal ones are one."""
        lines = [split(each) if isinstance(each, str) else list(each) for each in self.commands]
        distinct = dict.fromkeys(tuple(line) for line in lines if line)
        return tuple(
            Check(
                name=_name_command(line, number),
                command=line,
                kind=_find_kind(line),
                timeout=self.timeout,
                origin="the program that called punchlist",
            )
            for number, line in enumerate(distinct, 1)
        )


def _name_command(line: Sequence[str], number: int) -> str:
    """Return a short name that can be part of a file's name: "1 python -m unittest"."""
    program = line[0].rpartition("/")[2]
    words = _UNPLAIN.sub("-", join([program, *line[1:]]))
    return f"{number} {words[:_LONGEST_NAME].strip()}"


def _find_kind(line: Sequence[str]) -> CheckKind:
    """Return how much the command tells: pytest and unittest tell single tests."""
    names = [part.rpartition("/")[2] for part in line[:3]]
    kinds = (CheckKind.PYTEST, CheckKind.UNITTEST)
    return next((kind for kind in kinds if kind.value in names), CheckKind.PLAIN)


class FixOpts(Struct, frozen=True):
    """What to fix: the findings, a report for context, and what the branch is compared with.
    `max_cycles` overrides that of the engine; `dry_run` asks for the prompt only.
    """

    findings: Sequence[AnyFinding]
    review_report: str = ""
    base_branch: str = ""
    dry_run: bool = False
    max_cycles: int | None = None
    repository: str | Path = "."


class FixEventType(StrEnum):
    FIX_STARTED = "fix_started"
    CYCLE_STARTED = "cycle_started"
    AGENT_INVOKED = "agent_invoked"
    VERIFICATION_STARTED = "verification_started"
    VERIFICATION_RESULT = "verification_result"
    CYCLE_COMPLETED = "cycle_completed"
    FIX_COMPLETED = "fix_completed"


class FixEvent(JsonValue, frozen=True):
    """One stage of a fix began or ended; `cycle` is 0 before the first one."""

    type: FixEventType
    cycle: int
    message: str
    timestamp: datetime


class AgentResult(JsonValue, frozen=True):
    """One call of the agent: its claims are its own words. `failed` says why it gave no answer."""

    agent: str
    claims: tuple[ItemClaim, ...] = ()
    failed: str = ""
    noted: tuple[str, ...] = ()
    seconds: float = 0


class CommandResult(JsonValue, frozen=True):
    """One run of one command over the changes."""

    command: str
    passed: bool
    output: str = ""
    seconds: float = 0


class VerificationReport(JsonValue, frozen=True):
    """What the commands said. `failures` is what was held against the changes, by whom and why."""

    status: VerificationStatus
    commands: tuple[CommandResult, ...] = ()
    failures: tuple[str, ...] = ()
    unverified: str = ""


class FixCycleResult(JsonValue, frozen=True):
    """One fix attempt: what the agent reported, what it changed, what the commands said."""

    cycle: int
    verification: VerificationReport
    agent_results: tuple[AgentResult, ...] = ()
    diff_after_fix: str = ""
    files: tuple[str, ...] = ()
    note: str = ""
    duration: float = 0

    @property
    def agent_result(self) -> AgentResult | None:
        return self.agent_results[0] if self.agent_results else None


class FixReport(JsonValue, frozen=True):
    """All cycles. `final_status` is that of the last one, and "unverified" where there was none:
    it is "passed" only if the commands were seen to pass with the changes.
    """

    cycles: tuple[FixCycleResult, ...] = ()
    final_status: VerificationStatus = VerificationStatus.UNVERIFIED
    total_cycles: int = 0
    fixes_applied: bool = False
    duration: float = 0
    fixed: tuple[str, ...] = ()
    """Ids of the findings that are fixed with a proof and committed on the branch."""
    unresolved: tuple[str, ...] = ()
    """Ids of all other findings."""
    reasons: dict[str, str] = field(default_factory=dict)
    """By id of an unresolved finding: why it is not fixed."""
    run: str = ""
    branch: str = ""
    interrupted: bool = False
    prompt: str = ""
    """The prompt, if only that was asked for."""
