"""What real agents printed against a scripted model, and what any reader of it has to stand."""

import random
from pathlib import Path

import msgspec

from punchlist.adapters.agents.cli_agent import Desk, Dialect, Told
from punchlist.adapters.agents.json_lines import events
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.process.run import Ran
from punchlist.ports.agent import Ask

DATA = Path(__file__).parents[2] / "data" / "agents" / "recorded"
ASK = Ask(role="reviewer", label="review/1", prompt="Look", folder=Path("/tree"))
DESK = Desk(home=Path("/home/agent"), tmp=Path("/home/tmp"), settings=AgentSettings())


def sample(name: str) -> bytes:
    return (DATA / f"{name}.jsonl").read_bytes()


def ran(stdout: bytes, exit_code: int = 0, stderr: bytes = b"") -> Ran:
    return Ran(command=("agent",), exit_code=exit_code, stdout=stdout, stderr=stderr, seconds=1)


def told(dialect: Dialect, name: str, exit_code: int = 0) -> Told:
    return dialect.told(ran(sample(name), exit_code), ASK)


def stands_anything(dialect: Dialect, name: str, *, tries: int = 1500) -> None:
    """Whatever is printed is read, and a beginning of a conversation is never taken for the whole."""
    whole, dice = sample(name), random.Random(7)  # the same examples every time
    for end in range(0, len(whole.rstrip()), 97):
        assert dialect.told(ran(whole[:end]), ASK).failed
    values = [
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        b"-1",
        b"1e400",
        b"true",
        b'"\\ud800"',
        b"[[[[",
        b"\xff\xfe",
        b"\n",
        b"",
    ]
    for _ in range(tries):
        start = dice.randrange(len(whole))
        printed = whole[:start] + dice.choice(values) + whole[start + dice.randrange(30) :]
        read = dialect.told(ran(printed, dice.choice([0, 1, 145])), ASK)
        assert msgspec.json.encode(read.usage)
        assert read.failed or read.text.strip()
        for found in events(printed):
            assert isinstance(dialect.piece(found), str)
