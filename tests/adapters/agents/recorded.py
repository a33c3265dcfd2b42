"""What real agents printed against a scripted model, and what any reader of it has to stand."""

import random
from pathlib import Path

import msgspec

from punchlist.adapters.agents.dialect import AgentDialect, CallContext, ParsedReply
from punchlist.adapters.agents.json_lines import parse_events
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import Ask

DATA = Path(__file__).parents[2] / "data" / "agents" / "recorded"
ASK = Ask(role="reviewer", label="review/1", prompt="Look", folder=Path("/tree"))
DESK = CallContext(home=Path("/home/agent"), tmp=Path("/home/tmp"), settings=AgentSettings())


def sample(name: str) -> bytes:
    return (DATA / f"{name}.jsonl").read_bytes()


def ran(stdout: bytes, exit_code: int = 0, stderr: bytes = b"") -> ProcessResult:
    return ProcessResult(
        command=("agent",), exit_code=exit_code, stdout=stdout, stderr=stderr, seconds=1
    )


def told(dialect: AgentDialect, name: str, exit_code: int = 0) -> ParsedReply:
    return dialect.parse_output(ran(sample(name), exit_code), ASK)


def stands_anything(dialect: AgentDialect, name: str, *, tries: int = 1500) -> None:
    """Whatever is printed is read, and a beginning of a conversation is never taken for the whole."""
    whole, dice = sample(name), random.Random(7)  # the same examples every time
    for end in range(0, len(whole.rstrip()), 97):
        assert dialect.parse_output(ran(whole[:end]), ASK).failed
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
        read = dialect.parse_output(ran(printed, dice.choice([0, 1, 145])), ASK)
        assert msgspec.json.encode(read.usage)
        assert read.failed or read.text.strip()
        for found in parse_events(printed):
            assert isinstance(dialect.describe_event(found), str)
