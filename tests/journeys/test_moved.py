"""Code that an analyzer complained about, and that an agent moved to another file, is not fixed; whether the analyzer looks there or not."""

import pytest
from workbench import BASE, fixer

from punchlist.model.item.item import Status

SETTINGS = """
[tool.bandit]
exclude_dirs = ["legacy", "tests"]

[tool.ruff.lint]
select = ["S307"]

[tool.ruff.lint.per-file-ignores]
"shop/compat/*" = ["S307"]
"tests/*" = ["S307"]
"""
CODE = '"""Names."""\n\n\ndef go(text):\n    return eval(text)\n'
WORKFLOW = (
    "about: each item alone\nsteps:\n  - review: {}\n  - consolidate: {}\n"
    "  - plan: {group: item}\n  - fix: {}\n  - verify: {}\n  - commit: {}\n  - report: {}\n"
)


def play(bench, tool, *edits):
    """What comes of the one finding of the tool, after an agent made these edits."""
    bench.repo.git("checkout", "--quiet", "main")
    bench.repo.commit(
        {"pyproject.toml": SETTINGS, "shop/legacy/__init__.py": "", **BASE}, "settings"
    )
    bench.repo.git("checkout", "--quiet", "-b", "other")
    bench.repo.commit({"shop/names.py": CODE}, "one complaint")
    done = {"outcome": "fixed", "explanation": "done"}
    bench.play(fixer({"when": "go", "edits": list(edits), "outcome": done}))
    text = bench.folder / "alone.yaml"
    text.write_text(WORKFLOW)
    run = bench.run(str(text), flags={"analyzers.enabled": tool, "analyzers.select": "S307"})
    (item,) = [each for each in run.items.values() if each.lead.spot.path == "shop/names.py"]
    return item


def move(path, module, text="eval(  str(text)  )"):
    """The edits that move the code to another file, a little changed."""
    moved = {"path": path, "content": f"def go(text):\n    return {text}\n"}
    old = CODE.partition("def ")[2]
    return moved, {
        "path": "shop/names.py",
        "replace": f"def {old}",
        "with": f"from {module} import go as go\n",
    }


SEEN, MOVED = "brings about B307", "instead of fixing it"
PLACES = {
    "default exclude": ("bandit", "shop/CVS_go.py", "shop.CVS_go", SEEN),
    "the project's own exclude": ("bandit", "shop/legacy/go.py", "shop.legacy.go", MOVED),
    "a file like any other": ("bandit", "shop/go.py", "shop.go", SEEN),
    "the name of a test": ("bandit", "shop/test_go.py", "shop.test_go", SEEN),
    "among the tests": ("bandit", "tests/helper.py", "tests.helper", MOVED),
    "a rule that is off for a folder": ("ruff", "shop/compat/go.py", "shop.compat.go", MOVED),
}


@pytest.mark.parametrize(("tool", "path", "module", "why"), PLACES.values(), ids=PLACES)
def test_code_that_is_moved_to_where_its_analyzer_does_not_look_is_not_fixed(
    bench, tool, path, module, why
):
    item = play(bench, tool, *move(path, module))
    assert item.status is Status.FILED
    whys = " ".join(attempt.why for attempt in item.attempts)
    assert why in whys
    assert path in whys


@pytest.mark.parametrize("tool", ["bandit", "ruff"])
def test_a_fix_with_a_new_module_and_a_new_test_is_proven(bench, tool):
    test = (
        "import unittest\n\nfrom shop.names import go\n\n\nclass Names(unittest.TestCase):\n"
        "    def test_go(self):\n        self.assertEqual(go('[1]'), eval('[1]'))\n"
    )
    item = play(
        bench,
        tool,
        *move("shop/safe.py", "shop.safe", "__import__('ast').literal_eval(text)"),
        {"path": "tests/test_names.py", "content": test},
    )
    assert item.status is Status.FIXED, [attempt.why for attempt in item.attempts]
