"""Tampers of a ledger on disk, each by kind and place as a seed says; each returns what it did."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

LEDGER = "ledger.sqlite3"
ENTRY = ("run", "seq", "at", "place", "key", "kind", "hash", "line")


@dataclass
class Scene:
    """A copy of a state folder, the run to tamper with, another run, and the number of the last
    entry that something outside the store names.
    """

    home: Path
    run: str
    other: str
    anchored: int
    chance: Random

    def __post_init__(self):
        with closing(sqlite3.connect(self.home / LEDGER)) as database:
            self.lines = [
                bytes(line)
                for (line,) in database.execute(
                    "SELECT CAST(line AS BLOB) FROM entries WHERE run = ? ORDER BY seq", [self.run]
                )
            ]

    def execute(self, sql, *values):
        with closing(sqlite3.connect(self.home / LEDGER)) as database, database:
            return database.execute(sql, values).rowcount

    def seq(self, least=1, most=None):
        return self.chance.randint(least, most or len(self.lines))

    def put(self, seq, line):
        self.execute("UPDATE entries SET line = ? WHERE run = ? AND seq = ?", line, self.run, seq)

    def rewrite(self, entries, *, head=True):
        """Put these entries in the place of all, with a whole new chain and columns that fit."""
        self.execute("DELETE FROM entries WHERE run = ?", self.run)
        prev = ""
        for seq, entry in enumerate(entries, 1):
            line = hashed({**entry, "seq": seq, "prev": prev})
            made = json.loads(line)
            row = [*(made[name] for name in ENTRY[:5]), made["event"]["kind"], made["hash"]]
            self.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row, line)
            prev = made["hash"]
        if head:
            self.execute("UPDATE runs SET head = ? WHERE id = ?", prev, self.run)

    def entries(self):
        return [json.loads(line) for line in self.lines]


def hashed(entry):
    """The entry's line with a hash that fits."""
    plain = {name: value for name, value in entry.items() if name != "hash"}
    raw = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
    return raw[:-1] + b',"hash":"' + sha256(raw).hexdigest().encode() + b'"}'


def edited_column(scene: Scene) -> str:
    column = scene.chance.choice(("at", "place", "key", "kind", "hash", "seq", "run"))
    new = {"at": scene.chance.random() * 2e9, "seq": len(scene.lines) + scene.chance.randint(1, 9)}
    value = new.get(column, f"x{scene.chance.randint(0, 999)}")
    value = scene.chance.choice(("ended", "failed")) + "x" if column == "kind" else value
    value = scene.other if column == "run" else value
    seq = scene.seq()
    if column == "run":  # the other run has an entry of that number
        value, column = f"{scene.other}x", "run"
        scene.execute("INSERT INTO runs (id, repository, started_at) VALUES (?, '', 0)", value)
    scene.execute(
        f"UPDATE entries SET {column} = ? WHERE run = ? AND seq = ?", value, scene.run, seq
    )
    return f"{column} of entry {seq}"


def edited_run_row(scene: Scene) -> str:
    column = scene.chance.choice(("repository", "started_at", "head"))
    value = {"started_at": scene.chance.random() * 2e9, "repository": "/elsewhere"}.get(
        column, scene.chance.choice(("", sha256(b"%d" % scene.seq()).hexdigest()))
    )
    scene.execute(f"UPDATE runs SET {column} = ? WHERE id = ?", value, scene.run)
    return f"{column} of the run"


def edited_line(scene: Scene) -> str:
    seq = scene.seq()
    raw = bytearray(scene.lines[seq - 1])
    for _ in range(scene.chance.randint(1, 4)):
        raw[scene.chance.randrange(len(raw))] ^= 1 << scene.chance.randrange(7)
    if bytes(raw) == scene.lines[seq - 1]:
        raw[5] ^= 1
    scene.put(seq, bytes(raw))
    return f"bytes of entry {seq}"


def rehashed_line(scene: Scene) -> str:
    """An edit with a hash of its own that fits, in line and column."""
    seq = scene.seq()
    entry = json.loads(scene.lines[seq - 1])
    entry["at"] += scene.chance.random()
    line = hashed(entry)
    scene.put(seq, line)
    values = (json.loads(line)["hash"], entry["at"], scene.run, seq)
    scene.execute("UPDATE entries SET hash = ?, at = ? WHERE run = ? AND seq = ?", *values)
    return f"entry {seq}, hashed anew"


def cut_tail(scene: Scene) -> str:
    seq = scene.seq(0, len(scene.lines) - 1)
    scene.execute("DELETE FROM entries WHERE run = ? AND seq > ?", scene.run, seq)
    return f"all after entry {seq}"


def cut_middle(scene: Scene) -> str:
    seq = scene.seq(1, len(scene.lines) - 1)
    scene.execute("DELETE FROM entries WHERE run = ? AND seq = ?", scene.run, seq)
    if scene.chance.random() < 0.5:  # and the numbers of the others closed up
        for later in range(seq + 1, len(scene.lines) + 1):
            values = (later - 1, scene.run, later)
            scene.execute("UPDATE entries SET seq = ? WHERE run = ? AND seq = ?", *values)
    return f"entry {seq}"


def dropped_finding(scene: Scene) -> str:
    """A finding is left out where it was reported, or where it became an item; a new chain."""
    entries = scene.entries()
    places = [
        part
        for entry in entries
        for part in (
            entry["event"].get("findings") or [],
            *(item["findings"] for item in entry["event"].get("items", [])),
            entry["event"].get("sightings") or [],
        )
        if part
    ]
    part = scene.chance.choice(places)
    lost = part.pop(scene.chance.randrange(len(part)))
    scene.rewrite(entries)
    return f"finding {lost.get('id') or lost['finding']['id']}"


def unproven_fix(scene: Scene) -> str:
    """An item is called fixed without its proof or its commit; a new chain."""
    entries = scene.entries()
    moves = [
        move
        for entry in entries
        for move in entry["event"].get("moves", [])
        if move["fact"] == "committed"
    ]
    move = scene.chance.choice(moves)
    field = scene.chance.choice(("proofs", "ref"))
    move.pop(field)
    scene.rewrite(entries)
    return f"{field} of item {move['item']}"


def reordered(scene: Scene) -> str:
    one, other = scene.chance.sample(range(1, len(scene.lines) + 1), 2)
    if scene.chance.random() < 0.5:
        scene.put(one, scene.lines[other - 1])
        scene.put(other, scene.lines[one - 1])
    else:
        for old, new in ((one, -1), (other, one), (-1, other)):
            values = (new, scene.run, old)
            scene.execute("UPDATE entries SET seq = ? WHERE run = ? AND seq = ?", *values)
    return f"entries {one} and {other}"


def duplicated(scene: Scene) -> str:
    seq, last = scene.seq(), len(scene.lines)
    entry = json.loads(scene.lines[seq - 1])
    prev = json.loads(scene.lines[-1])["hash"]
    fits = scene.chance.random() < 0.5
    line = hashed({**entry, "seq": last + 1, "prev": prev}) if fits else scene.lines[seq - 1]
    head = json.loads(line)["hash"]
    row = (scene.run, last + 1, entry["at"], entry["place"], entry["key"] + " again")
    row = (*row, entry["event"]["kind"], head, line)
    scene.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
    if fits:
        scene.execute("UPDATE runs SET head = ? WHERE id = ?", head, scene.run)
    return f"entry {seq}"


def inserted(scene: Scene) -> str:
    """An invented entry: at the end in a chain that holds, or anywhere in one that does not."""
    entry = json.loads(scene.lines[-1])
    entry |= {"place": "people", "key": f"made up {scene.seq()}"}
    entry["event"] = {"kind": "failed", "reason": "made up"}
    last = json.loads(scene.lines[-1])
    if scene.chance.random() < 0.5:
        seq = len(scene.lines) + 1
        line = hashed({**entry, "seq": seq, "prev": last["hash"]})
    else:
        seq = scene.seq()
        for later in range(len(scene.lines), seq - 1, -1):
            values = (later + 1, scene.run, later)
            scene.execute("UPDATE entries SET seq = ? WHERE run = ? AND seq = ?", *values)
        line = hashed({**entry, "seq": seq, "prev": json.loads(scene.lines[seq - 1])["prev"]})
    row = (scene.run, seq, entry["at"], "people", entry["key"], "failed")
    row = (*row, json.loads(line)["hash"], line)
    scene.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
    return f"as entry {seq}"


def hidden_row(scene: Scene) -> str:
    """An entry that stands before the first: what reads entries by kind finds it."""
    seq = -scene.chance.randint(0, 5)
    entry = {**json.loads(scene.lines[-1]), "seq": seq, "place": "people", "key": "hidden"}
    entry["event"] = {"kind": "dismissed", "by": "x", "why": "x", "fingerprints": ["0"]}
    line = hashed({**entry, "prev": ""})
    row = (scene.run, seq, entry["at"], "people", "hidden", "dismissed", json.loads(line)["hash"])
    scene.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row, line)
    return f"as entry {seq}"


def changed_evidence(scene: Scene) -> str:
    names = sorted({name for entry in scene.entries() for name in entry["event"].get("pins", {})})
    path = scene.home / "runs" / scene.run / scene.chance.choice(names)
    raw = bytearray(path.read_bytes())
    if scene.chance.random() < 0.3:
        raw = raw[: len(raw) // 2]
    else:
        raw[scene.chance.randrange(len(raw))] ^= 1
    path.write_bytes(bytes(raw))
    return path.name


def swapped_runs(scene: Scene) -> str:
    """Entries of two runs change places: all of them, or one."""
    if scene.chance.random() < 0.5:
        for old, new in ((scene.run, "-"), (scene.other, scene.run), ("-", scene.other)):
            scene.execute("UPDATE entries SET run = ? WHERE run = ?", new, old)
        return "all entries"
    seq = scene.seq(1, min(len(scene.lines), 20))
    for old, new in ((scene.run, "-"), (scene.other, scene.run), ("-", scene.other)):
        values = (new, old, seq)
        scene.execute("UPDATE entries SET run = ? WHERE run = ? AND seq = ?", *values)
    return f"entry {seq}"


def rewritten(scene: Scene) -> str:
    """All is written anew, lawfully, from an entry on that is named outside, or from one before."""
    entries = scene.entries()
    seq = scene.seq(1, scene.anchored)
    entries[seq - 1]["at"] += scene.chance.random()
    if seq == 1:
        scene.execute("UPDATE runs SET started_at = ? WHERE id = ?", entries[0]["at"], scene.run)
    scene.rewrite(entries)
    return f"from entry {seq} on"


def cut_lawfully(scene: Scene) -> str:
    """The end is cut off before what is named outside, and the store says that this is the end."""
    seq = scene.seq(1, scene.anchored - 1)
    scene.rewrite(scene.entries()[:seq])
    return f"all after entry {seq}"


Tamper = Callable[[Scene], str]
FOUND: tuple[Tamper, ...] = (
    edited_column,
    edited_run_row,
    edited_line,
    rehashed_line,
    cut_tail,
    cut_middle,
    dropped_finding,
    unproven_fix,
    reordered,
    duplicated,
    inserted,
    hidden_row,
    changed_evidence,
    swapped_runs,
)
"""What `audit` must find by itself."""
ANCHORED: tuple[Tamper, ...] = (rewritten, cut_lawfully)
"""What only a hash outside of the store can show."""
