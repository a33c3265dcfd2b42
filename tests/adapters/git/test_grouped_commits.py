"""Commits grouped anew: every grouping ends in the same tree, byte by byte."""

import asyncio

import pytest
from joinery import BRANCH, Bench, edit

from punchlist.model.item.batch import CommitGrouping
from punchlist.model.ledger.events import Landed
from punchlist.model.patch.line_regions import find_regions, join_changes
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.repository import Draft, RegionDraft
from punchlist.steps.support.arrange_commits import group_commits

TEXT = "one\ntwo\r\nthr\u00e9e\nfour\nfive\nsix\fsix\nend"


def files(*changes):
    return Draft("files", Patch(files=tuple(FileChange(*change) for change in changes)))


@pytest.fixture
def desk(repo, tmp_path):
    repo.commit({"a.py": TEXT, "b.py": "b\n", "old.bin": "\0\1", "shut.py": "x = 1\n"})
    return Bench(repo.root, tmp_path / "state")


@pytest.fixture
def chain(repo, desk):
    """Three rounds: lines, the same lines again, and files that come, go and change their mode."""
    head = repo.head
    tip = desk.chain(
        head,
        edit("a.py", 0, 3, "ONE"),
        edit("a.py", 4, 7, "TWO\nand"),
        edit("b.py", 2, 2, "new\n"),
        action="r1/1",
    )[-1]
    at = len("ONE\nTWO\n")
    tip = desk.chain(
        tip,
        edit("a.py", at, at + 3, "AND"),
        files(("new.py", "fresh\n"), ("old.bin", None), ("shut.py", "x = 1\n", "100755")),
        action="r1/2",
    )[-1]
    tip = desk.chain(tip, edit("new.py", 0, 5, "FRESH"), edit("b.py", 0, 1, "B"), action="r1/3")[-1]
    return head, tip


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        (CommitGrouping.ITEM, [(0,), (2,), (1, 3), (4, 5), (6,)]),
        (CommitGrouping.RULE, [(0,), (1, 3), (4, 5), (2, 6)]),
        (CommitGrouping.AUTO, [(0,), (1, 3), (4, 5), (2, 6)]),
        (CommitGrouping.ONE, [(0, 1, 2, 3, 4, 5, 6)]),
    ],
)
def test_every_grouping_ends_in_the_same_tree(desk, chain, by, groups):
    head, tip = chain
    made = asyncio.run(desk.repository.read_chain(head, tip))
    assert [each.message.splitlines()[0] for each in made][4] == "files"
    rules = ["R1", "R1", "R2", "R3", "", "R4", "R2"]
    landed = [
        Landed(number, each.commit, (number,), rule)
        for number, (each, rule) in enumerate(zip(made, rules, strict=True))
    ]
    regions = find_regions([each.lines for each in made])
    found = group_commits(landed, join_changes(regions, len(made)), by)
    assert found == groups
    drafts = [
        RegionDraft(f"group {group}", tuple(r for r in regions if r.changes & set(group)))
        for group in found
    ]
    shas = asyncio.run(desk.repository.arrange_chain(BRANCH, head, tip, drafts))
    assert desk.git("rev-parse", f"{shas[-1]}^{{tree}}") == desk.git("rev-parse", f"{tip}^{{tree}}")
    assert len(shas) == len(found)
    again = asyncio.run(desk.repository.arrange_chain(BRANCH, head, tip, drafts))
    assert again == shas, "the same input gives the same commits"
