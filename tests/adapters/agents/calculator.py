"""The small fault that real agents are set to fix, the answer wanted of them, and the steps of a model that gives it."""

from pathlib import Path
from typing import Any

KEY = "sk-dummy-0123456789abcdef"
BUG = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
ANSWER = {"verdict": "fixed", "files": ["calc.py"]}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict", "files"],
    "properties": {
        "verdict": {"type": "string", "enum": ["fixed", "failed"]},
        "files": {"type": "array", "items": {"type": "string"}},
    },
}


def fixing(tree: Path, answer: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The steps of an honest fixer: read, edit, look, answer."""
    path, said = str(tree / "calc.py"), answer or ANSWER
    return [
        {"blocks": [{"text": "Reading."}, {"tool": "@read", "input": {"path": path}}]},
        {
            "tool": "@edit",
            "input": {"path": path, "old": "    return a - b", "new": "    return a + b"},
        },
        {"tool": "@shell", "input": {"cmd": "git diff --stat"}},
        {"tool": "@final", "input": said},
        {"json": said},
    ]
