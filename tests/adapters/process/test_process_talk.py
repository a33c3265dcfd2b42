"""A child that is talked to in both directions: it is answered while it works, and goes when we hang up."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from punchlist.adapters.process.run import ChildInput, Origin, OutputWatch, run

ECHO = "import sys,time,signal\nfor line in sys.stdin: print('heard', line.strip(), flush=True)\n"


class Talk:
    """Says one line after the other, each when the last was heard, then hangs up."""

    def __init__(self, *words: bytes) -> None:
        self._words = list(words)
        self._voice: ChildInput | None = None

    def begin(self, voice: ChildInput) -> None:
        self._voice = voice
        self.hear(b"")

    def hear(self, piece: bytes) -> None:
        if self._words:
            self._voice.send(self._words.pop(0) + b"\n")
        else:
            self._voice.close_input()


def talked(source, *words, timeout=20, grace=0.2):
    talk = Talk(*words)
    command = [sys.executable, "-c", source]
    return asyncio.run(
        run(
            command,
            origin=Origin.OURS,
            cwd=Path("/"),
            timeout=timeout,
            watch=OutputWatch(hear=talk.hear, speak=talk.begin, grace=grace),
        )
    )


def test_a_child_is_answered_while_it_works():
    ran = talked(ECHO, b"one", b"two")
    assert ran.stdout == b"heard one\nheard two\n"
    assert ran.ok


@pytest.mark.parametrize(
    "stubborn",
    ["", "signal.signal(15, signal.SIG_IGN)\n"],
    ids=["goes when asked", "has to be ended"],
)
def test_one_that_stays_after_we_hung_up_is_ended_and_that_is_no_trouble(stubborn):
    before = time.monotonic()
    ran = talked(f"import signal\n{stubborn}{ECHO}time.sleep(60)", b"one")
    assert (ran.stdout, ran.trouble) == (b"heard one\n", "")
    assert time.monotonic() - before < 15


def test_one_that_goes_in_the_middle_of_a_talk_is_a_value():
    ran = talked("print(input(), flush=True)", b"one", b"x" * 1_000_000, b"three")
    assert ran.stdout == b"one\n"


def test_one_that_never_answers_is_late():
    assert talked("import time; time.sleep(60)", b"one", timeout=0.3).late
