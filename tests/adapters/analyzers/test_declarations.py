"""Every analyzer says itself what steers it and what silences it."""

import re

import pytest

from punchlist.adapters.analyzers.registry import ANALYZERS, suppressions_of, undeclared_analyzers
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import Kit
from punchlist.adapters.analyzers.tools.custom import CustomTool
from punchlist.adapters.analyzers.tools.ruff import Ruff
from punchlist.errors import SettingsError
from punchlist.model.checks.protected import matches_any
from punchlist.settings import Settings

COMMENTS = """
    # noqa|# noqa: F401|# ruff: noqa|# flake8: noqa|# isort:skip|# nosec|# type: ignore|# pyright: ignore
    # pyright: basic|# ty: ignore|# mypy: ignore-errors|# mypy: disable-error-code="x"|# pylint: disable=x
    # pragma: no cover|# fmt: off|# nosemgrep|# shellcheck disable=SC1|// eslint-disable-next-line
    /* eslint-disable */|// biome-ignore lint: x|// @ts-ignore|// @ts-expect-error|//nolint|// nosemgrep
    # ruff: ignore[F401]|# ruff: disable[E711]|# ruff: file-ignore[B006]|# hadolint ignore=DL3008
    # hadolint global ignore=DL3008|# yamllint disable-line rule:x|# rubocop:disable Style/X|-- sqlfluff:disable=x
    <!-- markdownlint-disable MD013 -->|# tool-ignore=x|@typing.no_type_check|// NOSONAR|// ast-grep-ignore|# ast-grep-ignore|#[allow(x)]|@SuppressWarnings|@pytest.mark.skip
"""


@pytest.mark.parametrize("name", ANALYZERS)
def test_an_analyzer_declares_what_it_reads_what_steers_and_what_silences_it(name):
    tool = ANALYZERS[name](AnalyzerSettings(), Kit())
    assert tool.suffixes
    assert tool.steered_by
    assert all(re.compile(pattern) for pattern in tool.suppressed_by)
    assert tool.suppressed_by


@pytest.mark.parametrize("name", ANALYZERS)
def test_what_an_analyzer_declares_belongs_to_the_judge(name):
    tool = ANALYZERS[name](AnalyzerSettings(), Kit())
    for pattern in tool.steered_by:
        assert pattern in Settings().protected.steering


@pytest.mark.parametrize("comment", re.split(r"\||\n\s*", COMMENTS.strip()))
def test_each_comment_that_silences_a_tool_is_counted_once(comment):
    assert suppressions_of(AnalyzerSettings()).count(f"x = 1  {comment}\n") == 1


def test_an_analyzer_in_the_table_is_enough(monkeypatch):
    class Hushed(Ruff):
        name = "hushed"
        suppressed_by = (r"#\s*hush",)

    before = suppressions_of(AnalyzerSettings())
    monkeypatch.setitem(ANALYZERS, "hushed", lambda settings, kit: Hushed())
    assert before.count("# hush") == 0
    assert suppressions_of(AnalyzerSettings()).count("# hush") == 1


def own(**declared) -> Settings:
    return Settings(
        analyzers=AnalyzerSettings(custom=(CustomTool(name="own", command=("own",), **declared),))
    )


def test_a_tool_of_the_users_own_declares_it_in_the_settings():
    settings = own(steered_by=("own.toml",), suppressed_by=("(#) own: off",))
    assert matches_any("a/own.toml", settings.protected.steering)
    assert suppressions_of(settings.analyzers).count("# own: off") == 1


@pytest.mark.parametrize(
    "comment", ["# Note: ignore empty rows", "# skip the header", "// disable when idle", "-- off"]
)
def test_a_comment_in_plain_words_silences_nothing(comment):
    assert suppressions_of(AnalyzerSettings()).count(f"x = 1  {comment}\n") == 0


def test_of_every_tool_here_it_is_known_how_it_is_silenced():
    assert undeclared_analyzers(AnalyzerSettings()) == frozenset()
    silent = undeclared_analyzers(own().analyzers)
    assert silent == {"own"}
    assert undeclared_analyzers(own(unsuppressed=("--all",)).analyzers) == frozenset()
    assert undeclared_analyzers(own(suppressed_by=("# own: off",)).analyzers) == frozenset()


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (("/opt/bin/hadolint", "{files}"), ".hadolint.yaml"),
        (("python", "-m", "pydoclint", "{files}"), "docs/.pydoclint"),
        (("npx", "stylelint", "{files}"), "stylelint.config.mjs"),
        (("vale", "{files}"), ".vale.ini"),
        (("run-it", "{files}"), ".ownrc"),
        (("run-it", "--config=ci/lint.json", "{files}"), "ci/lint.json"),
        (
            ("run-it", "-c", "./lint.xml", "{files}", "app/code.xml", "-x", "app/code.py"),
            "lint.xml",
        ),
    ],
)
def test_a_file_that_is_named_after_a_tool_steers_it(command, file):
    tool = CustomTool(name="own", command=command)
    settings = Settings(analyzers=AnalyzerSettings(custom=(tool,)))
    assert matches_any(file, settings.protected.steering)
    for code in ("other/lint.xml", "app/code.xml", "app/code.py"):
        assert not matches_any(code, settings.protected.steering)
    assert not matches_any("src/own.py", settings.protected.steering)
    assert not matches_any(".python-version", settings.protected.steering)


def test_a_pattern_that_is_no_regular_expression_is_refused():
    with pytest.raises(SettingsError, match="suppressed_by"):
        suppressions_of(own(suppressed_by=("(",)).analyzers)
