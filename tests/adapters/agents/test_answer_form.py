"""Every agent is told one form of the answer: the one that its program can give."""

import re
from pathlib import Path

import pytest
from recorded import DESK

from punchlist.adapters.agents.dialects.aider import Aider
from punchlist.adapters.agents.dialects.claude import Claude
from punchlist.adapters.agents.dialects.codex import Codex
from punchlist.adapters.agents.dialects.copilot import Copilot
from punchlist.adapters.agents.dialects.gemini import Gemini
from punchlist.adapters.agents.dialects.opencode import Opencode
from punchlist.adapters.agents.dialects.qwen import Qwen
from punchlist.ports.agent import FENCED, STRUCTURED, UNFENCED, Ask
from punchlist.roles.answers import schemas

FORM = re.compile(r"code fence|```json block|structured output", re.IGNORECASE)
PROMPT = f"Fix it.\n\n{FENCED}:\n\n```json\n{{}}\n```\n"
TOLD = {"aider": UNFENCED, "claude": STRUCTURED, "codex": STRUCTURED, "qwen": STRUCTURED}


DIALECTS = {each.program: each for each in (Aider, Claude, Codex, Copilot, Gemini, Opencode, Qwen)}
EACH = pytest.mark.parametrize(("name", "dialect"), DIALECTS.items(), ids=DIALECTS)


def stdin(dialect, **asked) -> str:
    ask = Ask(role="fixer", label="l", folder=Path("/work"), **{"prompt": PROMPT, **asked})
    return dialect().build_call(ask, DESK).stdin


@EACH
def test_one_form_is_asked_for_and_it_fits_the_program(name, dialect):
    told = stdin(dialect, schema=schemas.OUTCOMES)
    assert len(FORM.findall(told)) == 1
    assert TOLD.get(name, FENCED) in told


@EACH
def test_without_a_schema_no_program_is_told_of_structured_output(name, dialect):
    told = stdin(dialect)
    assert len(FORM.findall(told)) == 1
    assert STRUCTURED not in told


@EACH
def test_a_prompt_of_the_user_s_own_is_left_alone_but_for_fences_that_would_be_files(name, dialect):
    told = stdin(dialect, prompt="Fix it. Answer in JSON.", schema=schemas.OUTCOMES)
    assert told.startswith("Fix it. Answer in JSON.")
    assert ("fence" in told) == (name == "aider")
