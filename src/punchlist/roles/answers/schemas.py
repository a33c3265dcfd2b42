"""JSON Schemas of the answers, in strict form: all properties required, no others allowed."""

from collections.abc import Iterable
from typing import Any

from punchlist.views.plans.plan_forms import item_code

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_YES_OR_NO: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "integer"}
_MOST_ITEMS = 100
"""Items that a schema may name; beyond that services refuse it."""


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _enum(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


_SEVERITY = _enum("critical", "major", "minor")
_FINDING = _object(
    id=_TEXT,
    file=_TEXT,
    line=_TEXT,
    issue=_TEXT,
    detail=_TEXT,
    severity=_SEVERITY,
    category=_TEXT,
    fix_hint=_TEXT,
)
_FULL_FINDING = _object(
    severity=_SEVERITY,
    category=_TEXT,
    title=_TEXT,
    description=_TEXT,
    file_path=_TEXT,
    line_start={"type": ["integer", "null"]},
    line_end={"type": ["integer", "null"]},
    suggested_fix=_TEXT,
)
GROUPED = _object(groups=_list(_object(description=_TEXT, findings=_list(_FINDING))))
FINDINGS = _object(findings=_list(_FULL_FINDING), summary=_TEXT)
OUTCOMES = _object(
    outcomes=_list(
        _object(
            id=_TEXT,
            outcome=_enum("fixed", "blocked", "deferred", "contested"),
            explanation=_TEXT,
            files=_TEXTS,
            tests=_TEXTS,
        )
    )
)
QUESTIONS = _object(
    has_questions=_YES_OR_NO,
    questions_by_issue=_list(
        _object(issue_code=_TEXT, questions=_list(_object(id=_TEXT, question=_TEXT, context=_TEXT)))
    ),
    ready_to_plan=_YES_OR_NO,
)
TODOS = _object(
    todos=_list(
        _object(
            code=_TEXT,
            approach=_enum("patch", "refactor", "rewrite"),
            steps=_TEXTS,
            files=_TEXTS,
            related_files=_list(_object(path=_TEXT, reason=_TEXT)),
            existing_patterns=_TEXTS,
            estimated_lines_changed=_NUMBER,
            risks=_TEXTS,
            verification=_TEXT,
            after=_TEXTS,
        )
    )
)
TESTS = _object(tests=_list(_object(id=_TEXT, path=_TEXT, content=_TEXT)))
_SCORE = _object(
    score=_NUMBER,
    status=_enum("SOLVED", "IN_PROGRESS"),
    feedback=_TEXT,
    improvements_needed=_TEXTS,
    quality_scores=_object(correctness=_NUMBER, safety=_NUMBER, style=_NUMBER),
)


def build_scores(numbers: Iterable[int]) -> Schema | None:
    """Return the schema of one score per item; None if there are too many items."""
    codes = [item_code(number) for number in numbers]
    return (
        _object(issues=_object(**dict.fromkeys(codes, _SCORE)))
        if 0 < len(codes) <= _MOST_ITEMS
        else None
    )
