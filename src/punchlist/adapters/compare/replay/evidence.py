"""What was seen of the recorded calls: under the tests, and in processes of their own."""

import re
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from punchlist.adapters.compare.replay.bare import RECORDED, Answer, BareAnswers, Key
from punchlist.adapters.compare.replay.recording import RecordedCall, Recording
from punchlist.model.checks.check import TestOutcome

_SHOWN = 60


def find_turned(old: Recording, new: Recording) -> frozenset[str]:
    """Return the tests that fail without the patch and pass with it."""
    red = {test for test, outcome in old.tests.items() if outcome is TestOutcome.FAILED}
    return frozenset(test for test in red if new.tests.get(test) is TestOutcome.PASSED)


class Evidence(Struct, frozen=True, kw_only=True, dict=True):
    """`old` and `new` are the code without and with the patch. The last three are asked only where
    something speaks against the patch.
    """

    calls: tuple[RecordedCall, ...]
    under_old: Recording
    under_new: Recording
    old: BareAnswers
    new: BareAnswers
    later: BareAnswers
    again: BareAnswers | None = None
    after_others: BareAnswers | None = None
    old_later: BareAnswers | None = None
    thorough: bool = False
    """Whether many similar inputs were asked for."""

    @cached_property
    def by_key(self) -> dict[str, RecordedCall]:
        return {call.key: call for call in self.calls}

    @cached_property
    def turned(self) -> frozenset[str]:
        """The tests that fail without the patch and pass with it."""
        return find_turned(self.under_old, self.under_new)

    @cached_property
    def unsteady(self) -> frozenset[tuple[str, str]]:
        """Functions that say nothing: the old code, too, answers differently in another process, or
        the new one does so when asked the same again.
        """
        found: set[tuple[str, str]] = set()
        for call in self.under_old.calls:
            bare = self.old.calls.get((call.key, RECORDED))
            if bare is not None and call.answer is not None and not agrees(bare, call.answer):
                found.add(call.function)
        for one, other in ((self.old, self.old_later), (self.new, self.again)):
            for key, answer in one.calls.items():
                second = other.calls.get(key, answer) if other is not None else answer
                if answer.differs(second) or _is_absent(answer):
                    found.add(self.by_key[key[0]].function)
        return frozenset(found)

    def pairs(self) -> Iterator[tuple[Key, RecordedCall, Answer, Answer]]:
        """Yield each call that both versions answered, with the old and the new answer."""
        for key, new in self.new.calls.items():
            call = self.by_key.get(key[0])
            old = self.old.calls.get(key)
            if call is None or old is None or call.function in self.unsteady:
                continue
            yield key, call, old, new

    def asks_clock(self, function: tuple[str, str]) -> bool:
        """Return whether the old code asks for the time."""
        answers = self.old_later.calls.items() if self.old_later is not None else ()
        return any(a.clock and self.by_key[key].function == function for (key, _), a in answers)

    @cached_property
    def asked_old(self) -> frozenset[str]:
        """Calls that the tests made of the old code, too, and that it answered."""
        return frozenset(call.key for call in self.under_old.calls if call.answer is not None)

    def is_whole(self) -> bool:
        """Return whether every call of the turned tests could be made again."""
        made = [*self.under_old.calls, *self.under_new.calls]
        own = [call for call in made if call.test in self.turned]
        return self.turned <= {call.test for call in own} and all(
            call.repeatable
            and call.function not in self.unsteady
            and (call.key, RECORDED) in self.old.calls
            and (call.key, RECORDED) in self.new.calls
            for call in own
        )


def _is_absent(answer: Answer) -> bool:
    return answer.kind == "absent"


def agrees(bare: Answer, seen: tuple[str, str]) -> bool:
    """Return whether an answer is the one that was seen under the tests."""
    if not bare.usable or bare.kind == "yields":
        return True
    return bare.kind == seen[0] and (bare.kind == "raise" or bare.said == seen[1])


def show_call(call: RecordedCall) -> str:
    return f"{call.name}({call.shown})"


def show_answer(kind: str, said: str) -> str:
    """Return an answer in short, for people."""
    if kind == "raise":
        return f"an error ({said})" if said else "an error"
    return re.sub(r"\b(?:bool|int|float|str|NoneType|bytes):", "", said.partition(" | ")[0])[
        :_SHOWN
    ]
