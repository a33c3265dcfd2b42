"""Outputs of agents, by the thousand: real ones in kind, cut, mixed, mangled and wrapped, the same ones for the same seed.

`python tests/roles/outputs.py 1000000` reads that many, and prints how long it took; an exception ends it.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from canned import CODE

from punchlist.intake.source_files import Sources
from punchlist.roles.answers.fix_answer import parse_statements
from punchlist.roles.answers.plan_answer import parse_plan, parse_questions, parse_tests
from punchlist.roles.answers.review_answer import parse_review
from punchlist.roles.answers.score_answer import parse_scores

FINDING = {
    "id": "R1",
    "file": "src/a.py",
    "line": "5-6",
    "issue": "Query is built by hand",
    "severity": "critical",
    "fix_hint": "Bind it",
}
FULL = {
    "severity": "major",
    "category": "security",
    "title": "Rate limit is not kept",
    "description": "The quota {limit} is ignored:\n```py\nrun(query)\n```",
    "file_path": "src/a.py",
    "line_start": 5,
    "line_end": None,
    "suggested_fix": 'Say "no"',
}
ANSWERS = (
    {
        "groups": [
            {"description": "one", "findings": [FINDING, {**FINDING, "line": 1}]},
            {"findings": []},
        ]
    },
    {"findings": [FULL, FULL, {"title": None}], "summary": "2"},
    {"findings": [], "verdict": "APPROVED"},
    {
        "outcomes": [
            {"id": "F001", "outcome": "fixed", "explanation": "done", "files": ["src/a.py"]},
            {"id": "F002-a", "outcome": "Blocked"},
        ]
    },
    {"results": {"F001": "fixed", "2": {"status": "DEFERRED", "reason": "too complex"}}},
    {
        "issues": {
            "F001": {"score": 95, "status": "SOLVED", "quality_scores": {"correctness": 100}},
            "F002": {"score": "70/100"},
        }
    },
    {
        "has_questions": True,
        "questions_by_issue": [
            {"issue_code": "F001", "questions": [{"id": "F001-q1", "question": "Which?"}]}
        ],
    },
    {"ready_to_plan": True, "questions_by_issue": []},
    {
        "todos": [
            {
                "code": "F001",
                "approach": "patch",
                "steps": ["a"],
                "files": ["src/a.py"],
                "after": ["F002"],
            }
        ]
    },
    {
        "issue_code": "F001",
        "plan": {"steps": ["x"]},
        "context": {"related_files": [{"path": "b.py"}]},
    },
    {
        "tests": [
            {
                "id": "F001",
                "path": "tests/test_x.py",
                "content": "def test():\n    assert '{' != \"}\"\n",
            }
        ]
    },
)
PROSE = (
    "I looked at everything.",
    "Let me think: {what if} the list [1, 2] is empty?",
    '<think>perhaps {"findings": []}</think>',
    "quota exceeded",
    "<html><body>502</body></html>",
    "```python\nx = {'a': [1]}\n```",
    'He said "stop',
    "\x1b[31mError\x1b[0m",
    "",
)
MARKS = (
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    ",",
    ":",
    "`",
    "```",
    "\n",
    "\r\n",
    "\ufeff",
    "\x1b[0m",
    "\ud800",
    "\x00",
    "é",
    "9" * 400,
    "null",
    " ",
)


def outputs(count: int, seed: int = 0) -> Iterator[str]:
    chance = random.Random(seed)
    for _ in range(count):
        text = "\n".join(_part(chance) for _ in range(chance.choice((1, 1, 1, 2, 3))))
        for _ in range(chance.choice((0, 0, 1, 2, 5, 30))):
            text = _mangled(text, chance)
        yield text


def _part(chance: random.Random) -> str:
    if chance.random() < 0.25:
        return chance.choice(PROSE)
    answer = chance.choice(ANSWERS)
    if chance.random() < 0.3:
        answer = _odd(answer, chance)
    text = json.dumps(answer, indent=chance.choice((None, 2)), ensure_ascii=chance.random() < 0.5)
    return chance.choice(("{}", "```json\n{}\n```", "Here: {}", "```\n{}", "{}\nDone.")).replace(
        "{}", _wrapped(text, answer, chance), 1
    )


def _wrapped(text: str, answer: object, chance: random.Random) -> str:
    roll = chance.random()
    if roll < 0.1:
        return json.dumps({"type": "result", "result": text})
    return json.dumps([{"type": "tool_use", "input": answer}]) if roll < 0.15 else text


def _odd(value: object, chance: random.Random) -> object:
    """The value with some part of it of another kind."""
    if chance.random() < 0.15:
        return chance.choice(
            (
                None,
                True,
                -1,
                2**70,
                1.5,
                "",
                "F001",
                [],
                {},
                [[]],
                ["x", None],
                {"F001": None},
                "nonsense \ud83d",
            )
        )
    if isinstance(value, dict):
        return {
            key if chance.random() < 0.95 else str(chance.random()): _odd(each, chance)
            for key, each in value.items()
        }
    return [_odd(each, chance) for each in value] if isinstance(value, list) else value


def _mangled(text: str, chance: random.Random) -> str:
    at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
    match chance.randrange(5):
        case 0:
            return text[:to]
        case 1:
            return text[:at] + text[min(at + chance.randint(1, 9), len(text)) :]
        case 2:
            return text[:at] + text[at:to][:200] + text[at:]
        case _:
            return text[:at] + chance.choice(MARKS) + text[at:]


class _Files:
    root = Path("/project")

    def text(self, path: str) -> str | None:
        return CODE if path == "src/a.py" else None

    def files(self) -> list[str]:
        return ["src/a.py"]


SOURCES = Sources(_Files())
ASKED = frozenset({1, 2, 3})
READERS = (
    lambda text: parse_review(text, "technical", SOURCES),
    lambda text: parse_statements(text, ASKED, "/project"),
    lambda text: parse_scores(text, sorted(ASKED)),
    lambda text: parse_questions(text, ASKED, ()),
    lambda text: parse_plan(text, ASKED, "/project"),
    lambda text: parse_tests(text, ASKED, "/project"),
)


def read(text: str, turn: int) -> bool:
    """Reads it in one of the roles; whether there was an answer. What comes out can be written down."""
    reading = READERS[turn % len(READERS)](text)
    msgspec.json.encode(reading)
    return not reading.failed


def main(count: int) -> None:
    began, understood = time.perf_counter(), 0
    for turn, text in enumerate(outputs(count)):
        understood += read(text, turn)
    seconds = time.perf_counter() - began
    print(
        f"{count} outputs, {understood} understood, {seconds:.0f} s, {seconds / count * 1e6:.0f} us each, no exception"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
