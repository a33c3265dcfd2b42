"""A tool that an agent silenced has not been satisfied: every run asks it again with its suppressions off."""

import json
import sys

import pytest
from workbench import fixer

from punchlist.cli.show.caveats import render_caveats
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.views.summary import find_gaps

TOOL = """
import pathlib, re, sys
word, *names = [name for name in sys.argv[1:] if name != "--all"]
quiet = any(word in path.read_text() for path in pathlib.Path().glob(".minder*"))
for name in names:
    for number, line in enumerate(pathlib.Path(name).read_text().splitlines(), 1):
        hidden = "hush" in line and "--all" not in sys.argv
        if re.search(rf"\\b{word}\\b", line) and not hidden and not quiet:
            print(f"{name}:{number}: error: {word} is not for here [{word}]")
"""
SETTINGS = """
[[analyzers.custom]]
name = "minder"
command = ["{python}", "-Ic", {tool}, "globals", "{{files}}"]
files = ["*.py"]
unsuppressed = ["--all"]

[[analyzers.custom]]
name = "stranger"
command = ["{python}", "-Ic", {tool}, "vars", "{{files}}"]
files = ["*.py"]
"""
CODE = '''"""Names."""


def first(text):
    return eval(text)


def second():
    return globals()["x"]


def third(thing):
    return vars(thing)
'''


def edit(rule: str, old: str, new: str, *more: dict) -> dict:
    """What the agent does about the finding of this rule."""
    return {
        "when": rule,
        "edits": [{"path": "shop/names.py", "replace": old, "with": new}, *more],
        "outcome": {"outcome": "fixed", "explanation": "done"},
    }


@pytest.fixture
def run(bench):
    bench.repo.commit({"shop/names.py": CODE, ".minder.yaml": "globals vars\n"}, "three complaints")
    bench.play(
        fixer(
            edit("S307", "eval(text)", "eval(text)  # ruff: ignore[S307]"),
            edit("globals is not", '["x"]', '["x"]  # hush'),
            edit("vars is not", "vars(thing)", "thing.__dict__"),
        ),
        settings=SETTINGS.format(python=sys.executable, tool=json.dumps(TOOL)),
    )
    text = bench.folder / "alone.yaml"
    text.write_text(
        "about: each item alone\nsteps:\n  - review: {}\n  - consolidate: {}\n"
        "  - plan: {group: item}\n  - fix: {}\n  - verify: {}\n  - commit: {}\n  - report: {}\n"
    )
    flags = {"analyzers.enabled": "ruff,minder,stranger", "analyzers.select": "S307"}
    return bench.run(str(text), flags=flags)


def test_silencing_a_tool_proves_nothing_and_fixing_beside_a_stranger_says_what_it_proves(run):
    """The branch brings a file that would silence two of the tools: it is not used, and named."""
    by_rule = {item.lead.rule: item for item in run.items.values()}
    assert by_rule.keys() == {"S307", "globals", "vars"}
    for rule in ("S307", "globals"):
        assert by_rule[rule].status is Status.FILED
        assert "hides a finding instead of fixing it" in by_rule[rule].attempts[1].why
    honest = by_rule["vars"]
    assert honest.status is Status.FIXED
    assert ProofClass.CHECKED in {proof.kind for proof in honest.proofs}
    assert ProofClass.RECHECKED not in {proof.kind for proof in honest.proofs}
    said = {gap.what: gap.why for gap in find_gaps(run)}
    assert (
        "`unsuppressed`"
        in said["That stranger no longer reports what an agent fixed proves nothing"]
    )
    assert any("not used: .minder.yaml" in what for what in said)
    assert list(render_caveats(run))
