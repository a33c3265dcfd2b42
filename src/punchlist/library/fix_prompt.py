"""Builds the fixer's prompt from findings, a diff, conventions, commands and earlier failures."""

import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct

from punchlist.library.fix_values import AnyFinding, FixCycleResult
from punchlist.library.tracked import ReportedFinding, TrackedFinding, make_item
from punchlist.ports.roles import Background, RoleTask
from punchlist.roles.fixer import build_prompt
from punchlist.roles.prompting.fencing import fence_text, shorten_text
from punchlist.roles.prompting.template import load_prompt

_LIMIT = 400_000
_FAILURE = 4_000


class _Frame(Struct, frozen=True):
    prompt: str
    limit: int


class FixPromptBuilder:
    """Builds prompts of at most `limit` characters: what does not fit is left out by severity, and
    named. Secrets in findings, diff and conventions are removed.
    """

    def __init__(
        self,
        conventions: Sequence[str] = (),
        verify_commands: Sequence[str | Sequence[str]] = (),
        *,
        limit: int = _LIMIT,
    ) -> None:
        self._conventions = {f"convention {at}": text for at, text in enumerate(conventions, 1)}
        self._commands = tuple(
            tuple(shlex.split(each) if isinstance(each, str) else each) for each in verify_commands
        )
        self._limit = limit

    def build(
        self,
        findings: Sequence[AnyFinding],
        diff: str = "",
        previous_failures: Sequence[FixCycleResult] = (),
    ) -> str:
        """Return the prompt; of a diff only the hunks in the findings' files are shown."""
        found: Iterable[ReportedFinding] = findings
        told = Background(
            conventions=self._conventions,
            checks=self._commands,
            diff=diff,
            notes="\n\n".join(map(describe_failure, previous_failures)),
        )
        items = tuple(make_item(at, TrackedFinding(each)) for at, each in enumerate(found, 1))
        task = RoleTask(label="fix", items=items, told=told)
        return build_prompt(task, _Frame(load_prompt("fixer"), self._limit)).text


def describe_failure(cycle: FixCycleResult) -> str:
    """Return what an earlier cycle failed of: the commands and what they printed, in short."""
    said = [*cycle.verification.failures]
    said += [
        f"{each.command}: {each.output}" for each in cycle.verification.commands if not each.passed
    ]
    text = "\n".join(dict.fromkeys(said)) or cycle.verification.unverified or cycle.note
    what = f"cycle {cycle.cycle}, which did not hold"
    return f"Do not repeat cycle {cycle.cycle}:\n{fence_text(what, shorten_text(text, _FAILURE))}"
