"""What a user does in an editor: apply a fix that was proven, dismiss with a reason, have one item fixed."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from editor_client import SOURCE, apply_edit, describe_client, open_editor
from lsprotocol import types

import warm
from punchlist.lsp.actions import DISMISS

CART = """\
import os


def total(prices, discount=None):
    if discount == None:
        discount = 0
    return sum(prices) - discount


def first(prices):
    return prices[0]
"""
TESTS = """\
import unittest

from cart import first, total


class CartTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
        self.assertEqual(total([1, 2], 1), 2)

    def test_first(self):
        self.assertEqual(first([3, 1]), 3)
"""
FAILS = {
    "title": "first() fails for no prices",
    "description": "An empty list has no first price.",
    "file_path": "cart.py",
    "line_start": 11,
    "severity": "critical",
    "rule": "empty-list",
}
EDITS = [{"path": "cart.py", "replace": "prices[0]", "with": "prices[0] if prices else None"}]
MENDED = CART.removeprefix("import os\n")


class Place:
    """A repository with a state folder and settings of its own."""

    def __init__(self, repo, folder: Path) -> None:
        self.repo = repo
        self.home = folder / "state"
        self.config = folder / "settings.toml"
        self.file = repo.root / "cart.py"

    @property
    def env(self) -> dict[str, str]:
        return {"PUNCHLIST_CONFIG": str(self.config)} if self.config.exists() else {}

    def type(self, *words: str) -> str:
        env = {**os.environ, "PUNCHLIST_HOME": str(self.home), "PYTHONPATH": SOURCE, **self.env}
        done = subprocess.run(
            warm.command(*words),
            cwd=self.repo.root,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1, 7), done.stderr
        return done.stdout

    def show(self, *words: str):
        return json.loads(self.type(*words, "--json"))

    def report(self, *findings: dict) -> str:
        """A file of findings."""
        file = self.config.with_name("review.json")
        file.write_text(json.dumps({"findings": findings}))
        return str(file)

    def employ(self, *lines: dict) -> None:
        """Set up a scripted agent."""
        script = self.config.with_name("robot.json")
        script.write_text(json.dumps({"lines": lines}))
        self.config.write_text(
            f'[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
        )


@pytest.fixture
def place(repo, tmp_path) -> Place:
    repo.commit({"cart.py": CART})
    return Place(repo, tmp_path)


def find_fix(actions) -> types.CodeAction | None:
    return next((each for each in actions if "apply the fix" in each.title), None)


def test_a_proven_fix_is_offered_while_its_lines_are_as_they_were_and_for_that_version_only(place):
    place.type("run", "--all")

    async def edit():
        async with open_editor(place.home) as editor:
            uri = editor.open(place.file)
            found = {each.code: each for each in await editor.seen(uri)}
            assert "a fix is proven: analyzer clean" in found["F401"].message
            assert "proven" not in found["E711"].message
            assert find_fix((await editor.actions_for(uri, found["E711"])).values()) is None
            fix = find_fix((await editor.actions_for(uri, found["F401"])).values())
            assert fix.is_preferred
            assert "changed since" not in fix.title
            assert apply_edit(fix.edit, {uri: CART})[uri] == MENDED
            (change,) = fix.edit.document_changes
            assert change.text_document.version == 1
            editor.change(uri, f"# 😀\n{CART}\nx = 1\n", 2)
            fix = find_fix(await editor.actions(uri))
            assert "other lines have changed since" in fix.title
            assert not fix.is_preferred
            changed = apply_edit(fix.edit, {uri: f"# 😀\n{CART}\nx = 1\n"})[uri]
            assert changed == f"# 😀\n{MENDED}\nx = 1\n"
            assert fix.edit.document_changes[0].text_document.version == 2
            for version, text in enumerate(
                (
                    CART.replace("import os", "import os, sys"),
                    CART.replace("import os\n", "import os\nos.name\n"),
                    MENDED,
                    CART + CART,
                    CART.replace("\n", "\r\n"),
                    "",
                ),
                start=3,
            ):
                editor.change(uri, text, version)
                assert find_fix(await editor.actions(uri)) is None, text
            editor.change(uri, CART, 100)
            editor.save(uri)
            await editor.seen(uri, 2)
            assert find_fix(await editor.actions(uri))
            place.type("discard", "last")
            editor.save(uri)
            await editor.seen(uri, 3)
            assert find_fix(await editor.actions(uri)) is None

    asyncio.run(edit())


def test_without_a_client_that_checks_versions_no_fix_is_offered(place):
    place.type("run", "--all")
    capable = describe_client(workspace=types.WorkspaceClientCapabilities())

    async def edit():
        async with open_editor(place.home, capabilities=capable) as editor:
            uri = editor.open(place.file)
            assert await editor.seen(uri)
            assert find_fix(await editor.actions(uri)) is None

    asyncio.run(edit())


def test_a_fix_that_was_only_claimed_is_not_offered(place):
    place.employ(
        {"role": "unified", "opened": ["cart.py"], "times": 1, "answer": {"findings": [FAILS]}},
        {"role": "unified", "opened": ["cart.py"], "answer": {"findings": []}},
        {
            "role": "fixer",
            "fixes": [
                {
                    "when": "first() fails",
                    "edits": EDITS,
                    "outcome": {"outcome": "fixed", "explanation": "done", "files": ["cart.py"]},
                },
                {"outcome": {"outcome": "deferred", "explanation": "another time"}},
            ],
        },
        {"role": "challenger", "answer": {"issues": {"each": {"id": "{code}", "score": 95}}}},
    )
    place.type("run", "--all", "--workflow", "unified")
    items = place.show("show", "last")
    (claimed,) = [each for each in items if each["title"] == FAILS["title"]]
    assert (claimed["status"], [each["kind"] for each in claimed["proofs"]]) == ("fixed", ["claim"])

    async def edit():
        async with open_editor(place.home, **place.env) as editor:
            uri = editor.open(place.file)
            found = await editor.seen(uri)
            assert FAILS["title"] not in str(found)
            assert find_fix(await editor.actions(uri)) is None

    asyncio.run(edit())


def test_a_dismissal_has_a_reason_and_is_recorded_under_the_users_name(place):
    place.repo.git("config", "user.name", "Ada Lovelace")
    undo: list[list[str]] = []

    async def edit():
        async with open_editor(place.home) as editor:
            uri = editor.open(place.file)
            found = {each.code: each for each in await editor.seen(uri)}
            actions = await editor.actions_for(uri, found["F401"])
            action = actions['punchlist: dismiss F401 as "intended"']
            assert not any("fix this" in title for title in actions)  # no agent is set up
            (arguments,) = action.command.arguments
            without = types.Command(
                title="", command=DISMISS, arguments=[{**arguments, "why": " "}]
            )
            await editor.run(without)
            assert "needs a reason" in await editor.told("reason")
            await editor.run(action.command)
            undo.append(re.search("`punchlist (.*)`", await editor.told("dismissed as"))[1].split())
            assert [each.code for each in await editor.seen(uri, 2)] == ["E711"]

    asyncio.run(edit())
    (item,) = [each for each in place.show("show", "last") if "`os`" in each["title"]]
    assert item["status"] == "dismissed"
    assert "Ada Lovelace" in str(item["attempts"])
    assert "intended" in str(item["attempts"])
    place.type("audit", "last")
    place.type("review", "--all")
    assert [each["status"] for each in place.show("show", "last")] == ["open", "dismissed"]
    place.type(*undo[0])
    place.type("review", "--all")
    assert [each["status"] for each in place.show("show", "last")] == ["open", "open"]


def test_one_item_is_fixed_by_a_run_of_its_own_and_its_fix_is_offered_then(place):
    place.repo.commit({"test_cart.py": TESTS})
    place.type("review", "--all", "--findings", place.report(FAILS))
    place.employ(
        {
            "role": "fixer",
            "edits": EDITS,
            "answer": {
                "outcomes": {
                    "each": {"id": "{code}", "outcome": "fixed", "explanation": "None for none"}
                }
            },
        }
    )
    check = f'[[checks]]\nname = "unit"\ncommand = ["{sys.executable}", "-m", "unittest"]\n'
    place.config.write_text(place.config.read_text() + check)

    async def edit():
        async with open_editor(place.home, **place.env) as editor:
            uri = editor.open(place.file)
            found = {each.code: each for each in await editor.seen(uri)}
            actions = await editor.actions_for(uri, found["empty-list"])
            await editor.run(actions["punchlist: fix this (empty-list)"].command)
            await editor.told("its fix is offered here")
            again = {each.code: each for each in await editor.seen(uri, 2)}
            assert "a fix is proven: tests pass" in again["empty-list"].message
            fix = find_fix((await editor.actions_for(uri, again["empty-list"])).values())
            assert "if prices else None" in apply_edit(fix.edit, {uri: CART})[uri]
            place.file.write_text(f"{CART}\n\nx = 1\n")
            editor.change(uri, f"{CART}\n\nx = 1\n", 2)
            editor.save(uri)
            await editor.seen(uri, 3)
            actions = {each.title: each for each in await editor.actions(uri)}
            await editor.run(actions["punchlist: fix this (F401)"].command)
            assert "commit them" in await editor.told("not committed")

    asyncio.run(edit())


def test_open_items_of_the_last_run_are_shown_where_their_lines_are_now(place):
    place.type("run", "--all", "--findings", place.report(FAILS))
    place.file.write_text(f"# one\n# two\n{CART}")

    async def edit():
        async with open_editor(place.home) as editor:
            uri = editor.open(place.file)
            (found,) = [each for each in await editor.seen(uri) if each.message == FAILS["title"]]
            assert found.range.start == types.Position(12, 4)
            assert found.severity is types.DiagnosticSeverity.Error
            assert Path(found.code_description.href.removeprefix("file://")).is_file()
            actions = await editor.actions_for(uri, found)
            assert any("dismiss" in title for title in actions)

    asyncio.run(edit())


def test_what_the_repository_accepts_or_ignores_is_not_shown(place):
    place.type("baseline")
    place.repo.commit({".punchlist.toml": '[review]\nignore = ["E401"]\n'})
    added = f"{CART}\n\nimport re, sys\n"
    place.file.write_text(added)

    async def edit():
        async with open_editor(place.home) as editor:
            uri = editor.open(place.file)
            found = await editor.seen(uri)
            assert {each.code for each in found} == {"E402", "F401", "I001"}
            assert min(each.range.start.line for each in found) == 13

    asyncio.run(edit())
