"""The verifier that needs no punchlist finds what is wrong with a ledger, and nothing wrong with a good one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import MOVES, Fact, Item, Move, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger import verify_ledger
from punchlist.model.ledger.events import (
    Committed,
    Consolidated,
    Ended,
    Entry,
    Filed,
    Halted,
    Landed,
    Reported,
    Reviewed,
    Sighting,
)
from punchlist.model.ledger.hash_chain import encode_line, link_entry

TOOL = Path(verify_ledger.__file__)


def finding(name):
    return Finding(
        id=name, source="ruff", title=name, spot=Spot("a.py", 1), severity=Severity.MAJOR
    )


def item(number, *names, status=Status.OPEN):
    return Item(
        number=number, fingerprint=str(number), findings=tuple(map(finding, names)), status=status
    )


PROOF = (Proof(ProofClass.CHECKED, "the tests pass"),)
FIXED = (Move(1, Fact.COMMITTED, by="punchlist", why="x", proofs=PROOF, ref="c1"),)
GOOD = (
    Reviewed(reviewer="ruff", commit="c0", findings=tuple(map(finding, "abcd"))),
    Consolidated(items=(item(1, "a", "b"), item(2, "c"), item(3, "d"))),
    Halted(limit="x", moves=(Move(1, Fact.SAID_FIXED),)),
    Committed(branch="b", tip="c1", landed=(Landed(1, "c1"),), moves=FIXED),
    Reviewed(reviewer="ruff", commit="c1", findings=(finding("e"),)),
    Consolidated(sightings=(Sighting(2, finding("e")),)),
    Filed(tracker="files", moves=(Move(2, Fact.FILED, ref="2.md"),)),
    Reported(listed=(3,)),
    Ended(outcome="left"),
)


def exported(events):
    lines, prev = [], ""
    for seq, event in enumerate(events, 1):
        entry = link_entry(
            Entry(run="r1", seq=seq, at=1.0, place=str(seq), key="k", event=event), prev
        )
        lines.append(encode_line(entry))
        prev = entry.hash
    return lines


def account(lines):
    ledger = verify_ledger.Ledger()
    for line in lines:
        ledger.add_line(line)
    ledger.close()
    return ledger.account()


def without(index, **change):
    return [replace(event, **change) if at == index else event for at, event in enumerate(GOOD)]


def test_a_good_ledger_adds_up():
    told = account(exported(GOOD))
    assert told["problems"] == []
    assert (told["reported"], told["items"], told["fixed"], told["filed"], told["listed"]) == (
        5,
        3,
        1,
        1,
        1,
    )


def test_every_beginning_of_a_good_ledger_adds_up():
    for end in range(1, len(GOOD)):
        assert account(exported(GOOD[:end]))["problems"] == []


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        (
            without(1, items=(item(1, "a", "b"), item(2, "c"))),
            "finding d (ruff) is in no item: it was lost",
        ),
        (
            without(1, items=(item(1, "a", "b"), item(2, "c"), item(3, "d", "a"))),
            "finding a is in item 1 and in item 3",
        ),
        (
            without(1, items=(item(1, "a", "b", "z"), item(2, "c"), item(3, "d"))),
            "finding z of item 1 was reported by nobody",
        ),
        (
            without(1, items=(item(1, "a", "b"), item(2, "c"), item(3, "d", status=Status.FIXED))),
            "item 3 begins as fixed",
        ),
        (without(5, sightings=()), "finding e (ruff) is in no item"),
        (without(5, sightings=(Sighting(9, finding("e")),)), "sees item 9 again"),
        (
            without(3, moves=(replace(FIXED[0], proofs=()),)),
            "item 1 is called fixed without a proof",
        ),
        (without(3, moves=(replace(FIXED[0], ref=""),)), "no commit of this run has it"),
        (without(3, landed=()), "no commit of this run has it"),
        (without(7, listed=()), "item 3 is open, the run has ended, and it is on no list"),
        (without(6, moves=()), "item 2 is open, the run has ended"),
        (without(6, moves=(Move(12, Fact.FILED),)), "moves item 12, which there is not"),
        (without(4, findings=(finding("a"),)), "finding a was reported twice"),
        ((), "the ledger is empty"),
    ],
)
def test_what_does_not_add_up_is_named(events, problem):
    told = account(exported(events))
    assert not told["ok"]
    assert any(problem in line for line in told["problems"]), told["problems"]


@settings(max_examples=60)
@given(line=st.integers(0, len(GOOD) - 1), at=st.integers(0, 5000), bits=st.integers(1, 255))
def test_any_change_of_a_single_byte_is_seen(line, at, bits):
    lines = exported(GOOD)
    raw = bytearray(lines[line])
    raw[at % len(raw)] ^= bits
    assert not account([*lines[:line], bytes(raw), *lines[line + 1 :]])["ok"]


def test_lines_taken_out_swapped_or_doubled_are_seen():
    lines = exported(GOOD)
    for changed in (
        lines[1:],
        [lines[0], *lines[2:]],
        [lines[1], lines[0], *lines[2:]],
        [lines[0], *lines],
        lines[:-2] + lines[-1:],
    ):
        assert not account(changed)["ok"]


def test_an_action_recorded_twice_is_seen():
    first, second = (
        link_entry(Entry(run="r", seq=1, at=1.0, place="0", key="k", event=Halted(limit="x")), "")
        for _ in range(2)
    )
    second = link_entry(replace(second, seq=2), first.hash)
    assert any(
        "recorded twice" in problem
        for problem in account([encode_line(first), encode_line(second)])["problems"]
    )


def test_its_own_table_of_moves_is_ours():
    ours = {
        str(status): {str(fact): str(to) for fact, to in moves.items()}
        for status, moves in MOVES.items()
    }
    assert ours == verify_ledger.MOVES
    assert {str(fact) for fact in Fact} == verify_ledger.FACTS


@pytest.mark.process
def test_it_is_a_program_of_under_300_lines_that_needs_nothing(tmp_path):
    assert len(TOOL.read_text().splitlines()) < 300
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_bytes(b"\n".join(exported(GOOD)) + b"\n")
    bad.write_bytes(good.read_bytes().replace(b'"by":"punchlist"', b'"by":"punchlisT"'))

    def run(*args, stdin=b""):
        return subprocess.run(
            [sys.executable, "-I", "-S", TOOL, *args], input=stdin, capture_output=True, check=False
        )

    ran = run(good)
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, b"the ledger adds up")
    ran = run(bad)
    assert ran.returncode == 1
    assert b"entry 4: was changed after it was written" in ran.stdout
    assert json.loads(run(good, "--json").stdout)["ok"] is True
    assert run("-", stdin=good.read_bytes()).returncode == 0
    assert run(tmp_path / "none").returncode == 2
    assert run("-", stdin=b"not a ledger\n").returncode == 1
