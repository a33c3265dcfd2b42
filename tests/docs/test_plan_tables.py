"""Each table of a plan behind a workflow names tests that run and that use punchlist as users do, and says where
punchlist deviates and why.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache

import pytest
from test_conformance_table import NAMED, ROOT, TABLE

import needs

SECTION = re.compile(
    r"^## The plan behind the workflow (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
PLANS = dict(SECTION.findall(TABLE.read_text("utf-8")))
ROWS = [
    (name, line)
    for name, text in PLANS.items()
    for line in text.splitlines()
    if line.startswith("|") and not line.startswith(("| requirement", "|---"))
]
COMMANDS = {
    "cli/": {"punchlist", "make_punchlist", "done", "typed"},
    "journeys/": {"bench", "place", "stuck"},
    "web/": {"site", "house"},
    "adapters/agents/test_whole_run": {"project"},
    "library/": set(),
}
"""By path: the fixtures through which its tests type commands or send requests. Tests of the library call it."""
INSIDE = re.compile(r"punchlist\.(app|engine|roles|steps|workflow)\b")
"""What users cannot call."""


def split_row(row: str) -> tuple[str, str, str]:
    requirement, shown, differs = (part.strip() for part in row[1:-1].split(" | "))
    return requirement, shown, differs


@cache
def collected() -> frozenset[str]:
    """The tests of `make test` in the files that the tables name, as pytest collects them."""
    if needs.collected:
        return _name_tests(needs.collected)
    files = {found["file"] for _, row in ROWS for found in NAMED.finditer(row)}
    there = sorted(str(path) for file in files if (path := ROOT / "tests" / file).is_file())
    quiet = (
        "-q",
        "--collect-only",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        "-o",
        "addopts=-m 'not soak'",
    )
    said = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, *there],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout[-2000:] + said.stderr
    return _name_tests(said.stdout.splitlines())


def _name_tests(printed: Iterable[str]) -> frozenset[str]:
    lines = (line.split("[")[0] for line in printed if line.startswith("tests/"))
    parts = (line.removeprefix("tests/").split("::") for line in lines)
    return frozenset(f"{each[0]}::{each[-1]}" for each in parts)


@cache
def parse(file: str) -> tuple[dict[str, ast.FunctionDef | ast.AsyncFunctionDef], frozenset[str], frozenset[str]]:  # fmt: skip
    """The functions of a test file, and the names it imports: from inside of punchlist, and what users import."""
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    made = {node.name: node for body in bodies for node in body if isinstance(node, functions)}
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    inside, outside = set(), {"library", "typed_program"}
    for node in froms:
        names = {each.asname or each.name for each in node.names}
        inside |= names if INSIDE.match(node.module) else set()
        outside |= names if re.fullmatch(r"punchlist(\.library)?", node.module) else set()
    return made, frozenset(inside), frozenset(outside)


def find_used(file: str, name: str) -> set[str]:
    """The names that a test uses, also in the functions of its file that it calls."""
    functions, _, _ = parse(file)
    used, left = set(), [name]
    while left:
        tree = functions[left.pop()]
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {argument.arg for argument in tree.args.args}
        left += [each for each in names - used if each in functions]
        used |= names
    return used


def is_public(test: str) -> bool:
    """Whether it types commands, sends requests or calls the library, and calls nothing else of punchlist."""
    file, _, name = test.partition("::")
    folder = next((path for path in COMMANDS if file.startswith(path)), "")
    if not folder or name not in parse(file)[0]:
        return False
    _, inside, outside = parse(file)
    used = find_used(file, name)
    return not used & inside and bool(used & (COMMANDS[folder] or outside))


def faults(row: str) -> list[str]:
    """What is wrong with a row."""
    requirement, shown, differs = split_row(row)
    cells = re.findall(r"`([^`]*)`", shown)
    tests = [f"{found['file']}::{found['name']}" for found in NAMED.finditer(shown)]
    return [
        *([] if requirement else ["it names no requirement"]),
        *([f"{cell} is no test" for cell in cells if not NAMED.fullmatch(f"`{cell}`")]),
        *([] if not NAMED.sub("", shown).strip() else ["there are other words among its tests"]),
        *([f"{test} is named twice" for test in {t for t in tests if tests.count(t) > 1}]),
        *([f"{test} is not collected" for test in tests if test not in collected() and is_absent(test)]),
        *([] if any(test in collected() and is_public(test) for test in tests) else ["no test of `make test` uses punchlist as users do"]),
        *([] if re.fullmatch(r"-|(adds|deviates): .{20,}", differs) else ["it does not say how it differs"]),
    ]  # fmt: skip


def is_absent(test: str) -> bool:
    """Whether there is no such test for `make soak` either."""
    file, _, name = test.partition("::")
    return not (ROOT / "tests" / file).is_file() or name not in parse(file)[0]


@pytest.mark.parametrize("row", [line for _, line in ROWS], ids=[name for name, _ in ROWS])
def test_every_requirement_has_tests_that_run_as_users_do_and_says_how_it_deviates(row):
    assert faults(row) == []


def test_all_five_plans_are_there_and_few_requirements_are_met_in_another_way():
    assert set(PLANS) == {"unified", "accountable", "challenged", "converge", "verified"}
    assert sum(split_row(row)[2].startswith("deviates") for _, row in ROWS) <= 15
    wanted = [(name, split_row(row)[0]) for name, row in ROWS]
    assert len(wanted) == len(set(wanted)) >= 170


def test_a_row_that_shows_nothing_is_noticed():
    public = "`cli/test_cli_run.py::test_json_is_exactly_one_document_with_the_exit_code_in_it`"
    inside = "`steps/test_batching.py::test_in_one_call_the_agent_gets_all_batches`"
    apart = "`journeys/test_at_once.py::test_a_choice_is_for_the_question_that_the_person_saw`"
    assert faults(f"| a | {public} | - |") == []
    assert faults(f"| a | {inside} {public} | adds: something that is worth it |") == []
    for shown, differs in (
        (inside, "-"),
        (apart, "-"),
        ("`web/test_api_fix.py::test_nothing`", "-"),
        (f"{public} {public}", "-"),
        (f"{public} and more", "-"),
        (f"{public} `journeys/test_converge.py::test_settings.py::test_a`", "-"),
        (public, "deviates: "),
        (public, ""),
        ("-", "-"),
    ):
        assert faults(f"| a | {shown} | {differs} |"), (shown, differs)
