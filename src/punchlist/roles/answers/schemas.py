"""JSON Schemas of the answers, in strict form: all properties required, no others allowed."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from punchlist.model.finding.severity import Severity
from punchlist.model.item.claim import ClaimOutcome
from punchlist.model.item.todo import Approach
from punchlist.views.plans.plan_forms import item_code

Schema = dict[str, Any]

_PLAIN = {str: "string", int: "integer", bool: "boolean", int | None: ["integer", "null"]}
_MOST_ITEMS = 100
"""Items that a schema may name; beyond that services refuse it."""


class _Verdict(StrEnum):
    SOLVED = "SOLVED"
    IN_PROGRESS = "IN_PROGRESS"


def _object(**properties: Any) -> Schema:
    return {
        "type": "object",
        "properties": {name: _schema(kind) for name, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(kind: Any) -> Schema:
    """Return the schema of a plain type, an enum, or a list of one kind; a schema is itself."""
    if isinstance(kind, dict):
        return kind
    if isinstance(kind, list):
        return {"type": "array", "items": _schema(kind[0])}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    return {"type": "string", "enum": [word.value for word in kind]}


_FINDING = _object(
    id=str,
    file=str,
    line=str,
    issue=str,
    detail=str,
    impact=str,
    severity=Severity,
    category=str,
    fix_hint=str,
)
_FULL_FINDING = _object(
    severity=Severity,
    category=str,
    title=str,
    description=str,
    impact=str,
    file_path=str,
    line_start=int | None,
    line_end=int | None,
    suggested_fix=str,
)
_OUTCOME = _object(
    id=str, outcome=ClaimOutcome, explanation=str, files=[str], tests=[str], confidence=int
)
_QUESTION = _object(id=str, question=str, context=str)
_TODO = _object(
    code=str,
    approach=Approach,
    steps=[str],
    files=[str],
    related_files=[_object(path=str, reason=str)],
    existing_patterns=[str],
    estimated_lines_changed=int,
    risks=[str],
    verification=str,
    after=[str],
)
_SCORE = _object(
    score=int,
    status=_Verdict,
    feedback=str,
    improvements_needed=[str],
    quality_scores=_object(correctness=int, safety=int, style=int),
)
GROUPED = _object(groups=[_object(description=str, findings=[_FINDING])])
FINDINGS = _object(findings=[_FULL_FINDING], summary=str)
OUTCOMES = _object(outcomes=[_OUTCOME])
QUESTIONS = _object(
    has_questions=bool,
    questions_by_issue=[_object(issue_code=str, questions=[_QUESTION])],
    ready_to_plan=bool,
)
TODOS = _object(todos=[_TODO])
TESTS = _object(tests=[_object(id=str, path=str, content=str)])


def build_scores(numbers: Iterable[int]) -> Schema | None:
    """Return the schema of one score per item; None if there are too many items."""
    codes = [item_code(number) for number in numbers]
    if not 0 < len(codes) <= _MOST_ITEMS:
        return None
    return _object(issues=_object(**dict.fromkeys(codes, _SCORE)))
