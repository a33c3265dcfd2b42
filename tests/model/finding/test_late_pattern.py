"""Patterns that are compiled when they are first used."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import punchlist
from punchlist.model.finding.late_pattern import late_pattern


def test_a_late_pattern_matches_as_a_compiled_one_does():
    late, compiled = late_pattern(r"(\w+)=(\d+)", re.ASCII), re.compile(r"(\w+)=(\d+)", re.ASCII)
    text = "a=1, bc=23"
    assert late.findall(text) == compiled.findall(text) == [("a", "1"), ("bc", "23")]
    assert late.sub(r"\2", text) == compiled.sub(r"\2", text)
    assert (late.pattern, late.flags, late.groups) == ("(\\w+)=(\\d+)", compiled.flags, 2)
    assert late_pattern(rb"\d+").fullmatch(b"42")


def test_a_late_pattern_is_compiled_when_it_is_used_and_not_before():
    broken = late_pattern("(")
    with pytest.raises(re.error):
        broken.match("")


def test_every_late_pattern_of_the_package_can_be_compiled():
    package = Path(punchlist.__file__).parent
    files = [each for each in package.rglob("*.py") if " = late_pattern(" in each.read_text()]
    for file in files:
        module = import_module(".".join(file.relative_to(package.parent).with_suffix("").parts))
        late = [each for each in vars(module).values() if isinstance(each, type(late_pattern("")))]
        assert late, file
        assert all(re.compile(each.pattern, each.flags) for each in late)
