"""Texts of any shape are parsed as the plain parsers do, or refused: nothing costs the stack."""

import json
import tomllib
from contextlib import suppress
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from punchlist.adapters.analyzers.configuration.parse import (
    UnusableConfigurationError,
    parse_configuration,
)
from punchlist.adapters.checks.junit import parse_report
from punchlist.errors import SettingsError, WorkflowError
from punchlist.model.finding.guarded_text import (
    Unparsable,
    find_ini,
    find_toml,
    parse_ini,
    parse_json,
    parse_toml,
)
from punchlist.model.finding.guarded_yaml import parse_yaml
from punchlist.model.finding.python_source import parse_expression, parse_python, syntax_error
from punchlist.settings import parse_settings
from punchlist.workflow.loader import parse_workflow

NESTING = 100
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
ODD = st.text(
    st.sampled_from("[]{}\"'\\#=.,:-&*!<|>%@`\n\t \0ab01eE_\ud800é"), max_size=400
) | st.text(max_size=100)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)


@given(value=VALUES)
def test_json_is_read_as_the_plain_parser_reads_it(value):
    assert parse_json(json.dumps(value), object) == value
    assert parse_json(msgspec.json.encode(value), object) == value


@given(
    value=VALUES,
    depth=st.integers(NESTING + 1, 3000),
    kind=st.sampled_from(["[{}]", '{{"a[":{}}}']),
)
def test_json_that_is_nested_too_deeply_is_refused_wherever_it_is(value, depth, kind):
    before, after = kind.format("\0").split("\0")
    deep = before * depth + json.dumps(value) + after * depth
    for text in (deep, f'{{"x": "]]}}", "y": {deep}}}', before * depth):
        with pytest.raises(Unparsable, match="nested too deeply"):
            parse_json(text, object)
    # In a string brackets are letters.
    assert parse_json(json.dumps([deep]), list[str]) == [deep]


@given(text=ODD)
def test_odd_text_is_parsed_or_refused(text):
    with suppress(msgspec.DecodeError):
        parse_json(text, object)
    for parse in (parse_toml, parse_ini, parse_yaml):
        with suppress(Unparsable):
            parse(text)
    with suppress(SettingsError):
        parse_settings(text, "a file")
    with suppress(WorkflowError):
        parse_workflow(text, "own", "a file")
    for name in ("x.toml", "x.json", "x.cfg"):
        with suppress(UnusableConfigurationError):
            parse_configuration(name, text)
    find_toml(text)
    find_ini(text)
    parse_python(text)
    parse_expression(text)
    syntax_error(text, "a.py")
    parse_report(text.encode("utf-8", "replace"))


def _write_toml(value: Any) -> str:
    match value:
        case dict():
            return (
                "{"
                + ", ".join(
                    f'"k{n}" = {_write_toml(each)}' for n, each in enumerate(value.values())
                )
                + "}"
            )
        case list():
            return "[" + ", ".join(map(_write_toml, value)) + "]"
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case _:
            return (
                json.dumps(str(value), ensure_ascii=True)
                .replace("\\u007f", " ")
                .replace("\x7f", " ")
            )


PLAIN = st.text(st.sampled_from("[]{}#.\"'= ab\\"), max_size=20)
TABLES = st.recursive(
    st.booleans() | st.integers(-1000, 1000) | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=20,
)


@given(value=TABLES)
def test_toml_is_read_as_the_plain_parser_reads_it(value):
    text = f"# a [[[ comment\n'k[.e' = {_write_toml(value)}\nb = '''[[\n'''\n"
    assert parse_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "{b = " * 5000 + "1" + "}" * 5000,
        "a = [\n" * 5000,
        ".".join("a" * 200_000) + " = 1",
        ".".join(['"a"'] * 5000) + " = 1",
        "[" + " . ".join(["a"] * 5000) + "]",
        "[[" + ".".join(["'a'"] * 5000) + "]]",
    ],
    ids=lambda text: text[:12],
)
def test_toml_that_is_nested_too_deeply_is_refused(text):
    with pytest.raises(Unparsable, match="nested too deeply"):
        parse_toml(text)
    assert find_toml(text) == {}


@pytest.mark.parametrize("kind", ["[", "- ", "{a: ", "? "])
def test_yaml_that_is_nested_too_deeply_is_refused(kind):
    with pytest.raises(Unparsable, match="nested too deeply"):
        parse_yaml(kind * 5000)


@given(value=VALUES)
def test_yaml_is_read_as_the_plain_parser_reads_it(value):
    text = yaml.safe_dump(value, allow_unicode=True)
    assert parse_yaml(text) == yaml.safe_load(text)


@given(width=st.integers(3, 9), levels=st.integers(15, 40), merge=st.booleans())
def test_yaml_that_grows_by_its_aliases_is_refused_while_it_is_read(width, levels, merge):
    lines = ["a0: &a0 {x: 1}" if merge else "a0: &a0 [x]"]
    for level in range(1, levels):
        inner = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"a{level}: &a{level} " + (f"{{<<: [{inner}]}}" if merge else f"[{inner}]"))
    with pytest.raises(Unparsable, match="aliases stand for over a million values"):
        parse_yaml("\n".join(lines))


def test_yaml_that_contains_itself_is_refused_and_plain_aliases_are_read():
    with pytest.raises(Unparsable, match="part of"):
        parse_yaml("a: &a [*a]")
    assert parse_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}") == {"a": {"b": 1}, "c": {"b": 1, "d": 2}}


@given(
    depth=st.integers(250, 20_000),
    sign=st.sampled_from(["-", "not ", "~", "lambda: ", "(", "[", "f("]),
)
def test_python_that_is_nested_too_deeply_is_no_tree(depth, sign):
    assert parse_python(f"x = {sign * depth}1") is None
    assert parse_expression(f"{sign * depth}1") is None


@pytest.mark.parametrize(
    "text",
    ["x = a" + ".b" * 5000, "x = " + "+".join("1" * 5000), "if a: b\n" + "elif a: b\n" * 2000],
)
def test_a_chain_that_makes_a_deep_tree_is_no_tree(text):
    assert parse_python(text) is None


def test_an_ordinary_module_is_a_tree():
    text = "def f(x):\n" + "".join(
        f"    if x == {n}:\n        return [{{'a': (x, [{n}])}}]\n" for n in range(500)
    )
    assert parse_python(text) is not None
    assert parse_python("x = " + " + ".join("'a'" for _ in range(150))) is not None


def test_xml_of_any_depth_is_read():
    report = parse_report(b"<testsuites>" + b"<testsuite>" * 100_000)
    assert "malformed or cut off" in report.trouble


@pytest.mark.parametrize(
    "text",
    [
        "{,//////////////////////////////////////////////////////x",
        "/*" * 200_000,
        ",/*" * 200_000,
        '{"a":' * 100_000,
    ],
)
def test_json_with_comments_that_never_end_is_refused_at_once(text):
    with pytest.raises(UnusableConfigurationError):
        parse_configuration("x.json", text)
