"""No line of the ledger can change unseen."""

import hashlib
import json
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry, Failed, Halted
from punchlist.model.ledger.hash_chain import (
    encode_line,
    encode_unhashed,
    link_entry,
    verify_entries,
    verify_lines,
)

CHAIN: list[Entry] = []
for _seq in range(1, 5):
    _prev = CHAIN[-1].hash if CHAIN else ""
    CHAIN.append(
        link_entry(
            Entry(
                run="r", seq=_seq, at=1.25, place=str(_seq), key="é", event=Halted(limit="quota")
            ),
            _prev,
        )
    )
LINES = [encode_line(entry) for entry in CHAIN]


@given(line=st.integers(0, 3), at=st.integers(0, 10_000), bits=st.integers(1, 255))
def test_any_change_of_a_single_byte_is_seen(line, at, bits):
    raw = bytearray(LINES[line])
    raw[at % len(raw)] ^= bits
    assert verify_lines([*LINES[:line], bytes(raw), *LINES[line + 1 :]])


def test_an_untouched_chain_is_whole():
    assert verify_entries(CHAIN) == verify_lines(LINES) == ""


def test_an_entry_taken_out_put_in_or_swapped_is_seen():
    assert "missing" in verify_entries([CHAIN[0], *CHAIN[2:]])
    assert "missing" in verify_entries([CHAIN[0], CHAIN[0], *CHAIN[1:]])
    assert "missing" in verify_entries([CHAIN[1], CHAIN[0], *CHAIN[2:]])
    assert "belongs to run x" in verify_entries([CHAIN[0], replace(CHAIN[1], run="x")])
    assert "follow" in verify_entries([CHAIN[0], link_entry(CHAIN[1], "0" * 64)])
    assert "changed" in verify_entries([CHAIN[0], replace(CHAIN[1], event=Failed(reason="no"))])


def test_a_line_is_the_hashed_bytes_with_the_hash_put_in():
    """What an independent verifier needs to know."""
    line, entry = LINES[1], CHAIN[1]
    assert line == encode_unhashed(entry)[:-1] + b',"hash":"' + entry.hash.encode() + b'"}'
    assert hashlib.sha256(encode_unhashed(entry)).hexdigest() == entry.hash
    assert json.loads(line)["prev"] == CHAIN[0].hash


@given(
    st.recursive(
        st.text(st.characters(codec=None)),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
    )
)
def test_any_text_survives_the_wire(value):
    raw = wire.encode(value)
    raw.decode()
    assert wire.decode(raw, object) == value


def test_an_odd_text_costs_no_look_at_the_texts_beside_it():
    """One text of an item in a run of thousands; each of the others is passed on as a whole."""
    items = [{f"field {n}": ["text"] * 5 for n in range(20)} for _ in range(500)]
    items[7]["field 3"][2] = "odd \udc80"
    seen = Counter()
    sys.setprofile(lambda frame, event, _: seen.update([event]))
    try:
        back = wire.decode(wire.encode(items), list)
    finally:
        sys.setprofile(None)
    assert back == items
    assert seen["call"] < 10 * len(items), "50,000 texts are in there"


@pytest.mark.parametrize("depth", [3, 11, 12, 13, 40])
def test_odd_texts_survive_the_wire_however_deep_they_are(depth):
    value = "odd \udc80 \U0010f8ff"
    for _ in range(depth):
        value = {"in": [value, "plain", 7]}
    assert wire.decode(wire.encode(value), object) == value


def test_a_text_that_looks_like_a_packed_one_survives_the_wire():
    value = "\U0010f8ff\U0010dc80 \udc80 \U0010f8ff\U0010f8ff"
    assert wire.decode(wire.encode(value), str) == value
