"""A proven fix fits if all its files do; of two fixes of one item the newer is offered."""

from punchlist.app.look.proven_fixes import FileVersions, ProvenFix, fit_fixes, is_proven
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.model.item.proof import Proof, ProofClass


def make_item(number: int = 1, **more) -> Item:
    finding = Finding(id="a", source="a", title="a", spot=Spot("a.py", 1), severity=Severity.MAJOR)
    return Item(number=number, fingerprint=f"f{number}", findings=(finding,), **more)


def make_fix(run: str, *files: FileVersions, item: int = 1) -> ProvenFix:
    return ProvenFix(run=run, items=(make_item(item),), files=files)


EDIT = FileVersions("a.py", "x\n", "y\n", "x\n")
OTHER = FileVersions("b.py", "x\n", "z\n", "x\n")
NEW = FileVersions("test_a.py", None, "test\n", None)


def fit(files: dict[str, str], *fixes: ProvenFix):
    return list(fit_fixes(fixes, files.get))


def test_every_file_must_match():
    fix = make_fix("1", EDIT, OTHER, NEW)
    (edits,) = fit({"a.py": "x\n", "b.py": "x\n"}, fix)
    assert [splice.text for splice in edits.splices] == ["y\n", "z\n"]
    assert edits.created == {"test_a.py": "test\n"}
    assert edits.unchanged
    assert fit({"a.py": "x\n"}, fix) == []
    assert fit({"a.py": "x\n", "b.py": "w\n"}, fix) == []
    assert fit({"a.py": "x\n", "b.py": "x\n", "test_a.py": ""}, fix) == []


def test_the_newest_fix_that_fits_is_the_one():
    older = make_fix("1", FileVersions("a.py", "x\n", "old\n", "x\n"))
    (edits,) = fit({"a.py": "x\n"}, make_fix("2", EDIT), older)
    assert edits.fix.run == "2"
    (edits,) = fit({"a.py": "x\n"}, make_fix("2", OTHER), older)
    assert edits.fix.run == "1"


def test_a_claim_an_open_item_and_another_commit_are_not_proven():
    claim, clean = (Proof(kind, "said") for kind in (ProofClass.CLAIM, ProofClass.RECHECKED))
    fixed = {"status": Status.FIXED, "made_in": "c"}
    assert is_proven(make_item(proofs=(claim, clean), **fixed), "c")
    assert not is_proven(make_item(proofs=(claim,), **fixed), "c")
    assert not is_proven(make_item(**fixed), "c")
    assert not is_proven(make_item(proofs=(clean,), **fixed), "d")
    assert not is_proven(make_item(proofs=(clean,), status=Status.OPEN, made_in="c"), "c")
