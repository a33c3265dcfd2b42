#!/usr/bin/env python3
"""The laws of a ledger: `punchlist audit` keeps to them, and so does this file as a program.

    python verify_ledger.py LEDGER.jsonl [--head HASH] [--anchor HASH] [--json]

It verifies an exported ledger (JSON lines; "-" is standard input) without punchlist. Exit 0: it
adds up, 1: it does not, 2: unreadable. One file for any Python from 3.8 on, without dependencies,
short enough to be read whole.

The laws, each checked from the lines alone: 1. Entry n+1 names the hash of entry n; every hash
fits its line; numbers have no gaps; all lines are of one run. 2. Every (place, key) is recorded
once. 3. Every reported finding is in exactly one item, as one of its first findings or as a
later sighting. 4. An item moves by the table below only; one that is fixed has a proof, and a
commit that the run made. 5. Once the run has ended, every item is fixed, filed or dismissed, or
is on the list of those that were left. 6. The last entry is the one with the hash HEAD, if that is
known, and there is an entry for each ANCHOR: the hash that a commit or an issue names.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from typing import Any

TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')

LIVE = {
    "said-fixed": "claimed",
    "said-deferred": "deferred",
    "said-blocked": "blocked",
    "contested": "open",
    "excuse-refused": "open",
    "set-aside": "open",
    "contest-agreed": "dismissed",
    "filed": "filed",
    "dismissed": "dismissed",
    "seen-again": "open",
    "absent": "deferred",
}
MOVES = {
    "open": LIVE,
    "deferred": LIVE,
    "claimed": {"rejected": "open", "committed": "fixed", "filed": "filed", "absent": "deferred"},
    "blocked": {
        "filed": "filed",
        "dismissed": "dismissed",
        "seen-again": "blocked",
        "reopened": "open",
    },
    "fixed": {"seen-again": "open", "confirmed": "fixed"},
    "filed": {"dismissed": "dismissed"},
    "dismissed": {"restored": "open"},
}
ENDS = ("fixed", "filed", "dismissed")
FACTS = set(LIVE) | {"rejected", "committed", "restored", "confirmed", "reopened"}


class LedgerItem:
    def __init__(self, status: str, findings: int) -> None:
        self.status, self.findings = status, findings
        self.proofs: list[Any] = []
        self.commit = ""

    def move(self, move: dict[str, Any]) -> None:
        before, fact = self.status, str(move.get("fact"))
        self.status = MOVES[before].get(fact, before)
        if fact == "committed" and self.status == "fixed" and before != "fixed":
            self.proofs, self.commit = move.get("proofs", []), move.get("ref", "")


class Ledger:
    """What the lines say so far, and what is wrong with it."""

    def __init__(self) -> None:
        self.run = self.previous = self.outcome = ""
        self.entries = self.sightings = self.refused = 0
        self.reported: dict[str, str] = {}
        self.homes: dict[str, int] = {}
        self.items: dict[int, LedgerItem] = {}
        self.actions: set[tuple[str, str]] = set()
        self.fresh: set[str] = set()
        self.listed: set[int] = set()
        self.landed: set[str] = set()
        self.hashes: set[str] = set()
        self.pins: dict[str, str] = {}
        self.problems: list[str] = []

    def add_problem(self, what: str) -> None:
        self.problems.append(f"entry {self.entries}: {what}")

    def add_line(self, line: bytes, *, chain_only: bool = False) -> None:
        self.entries += 1
        try:
            entry = json.loads(line.decode("utf-8"))
            self.check_link(entry, line)
            if not chain_only:
                self.add_event(entry["place"], entry["key"], entry["event"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self.add_problem(f"is no entry of a ledger: {error!r}")

    def add_event(self, place: str, key: str, event: dict[str, Any]) -> None:
        if (place, key) in self.actions:
            self.add_problem(f"{place} {key} is recorded twice")
        self.actions.add((place, key))
        self.pins.update(event.get("pins", {}))
        for move in event.get("moves", []):
            self.move_item(move)
        handle = getattr(self, "on_" + event["kind"], None)
        if handle:
            handle(event)

    def check_link(self, entry: dict[str, Any], line: bytes) -> None:
        tail = TAIL.search(line)
        self.run = self.run or entry.get("run", "")
        if entry.get("run") != self.run:
            self.add_problem("belongs to run {}, not to {}".format(entry.get("run"), self.run))
        if entry.get("seq") != self.entries:
            number = entry.get("seq")
            self.add_problem(f"says it is entry {number}: one is missing, or one is too many")
        if entry.get("prev") != self.previous:
            self.add_problem(
                "does not follow the one before it: an entry was changed, added or taken out"
            )
        if not tail or hashlib.sha256(line[: tail.start()] + b"}").hexdigest() != entry.get("hash"):
            self.add_problem("was changed after it was written: its hash does not fit")
        self.previous = entry.get("hash", "")
        self.hashes.add(self.previous)

    def move_item(self, move: dict[str, Any]) -> None:
        item = self.items.get(move.get("item", 0))
        if item is None:
            self.add_problem("moves item {}, which there is not".format(move.get("item")))
        elif move.get("fact") not in FACTS:
            self.add_problem("item {}: {} is no fact".format(move.get("item"), move.get("fact")))
        else:
            item.move(move)

    def on_reviewed(self, event: dict[str, Any]) -> None:
        self.refused += len(event.get("refused", []))
        for finding in event.get("findings", []):
            if finding["id"] in self.reported:
                self.add_problem("finding {} was reported twice under one id".format(finding["id"]))
            self.reported[finding["id"]] = event.get("reviewer", "")
            self.fresh.add(finding["id"])

    def on_consolidated(self, event: dict[str, Any]) -> None:
        for item in event.get("items", []):
            number, status = item["number"], item.get("status", "open")
            if number in self.items:
                self.add_problem(f"item {number} is there already")
            self.items[number] = LedgerItem(status, len(item["findings"]))
            if status not in ("open", "deferred", "blocked"):
                self.add_problem(f"item {number} begins as {status}")
            for finding in item["findings"]:
                self.place_finding(finding["id"], number)
        for sighting in event.get("sightings", []):
            self.sightings += 1
            if sighting["item"] not in self.items:
                self.add_problem("sees item {} again, which there is not".format(sighting["item"]))
            self.place_finding(sighting["finding"]["id"], sighting["item"])

    def place_finding(self, finding: str, item: int) -> None:
        if finding not in self.reported:
            self.add_problem(f"finding {finding} of item {item} was reported by nobody")
        if finding in self.homes:
            self.add_problem(
                f"finding {finding} is in item {self.homes[finding]} and in item {item}"
            )
        self.homes[finding] = item
        self.fresh.discard(finding)

    def on_committed(self, event: dict[str, Any]) -> None:
        self.landed.update(landed["commit"] for landed in event.get("landed", []))

    def on_reported(self, event: dict[str, Any]) -> None:
        self.listed = set(event.get("listed", []))

    def on_ended(self, event: dict[str, Any]) -> None:
        self.outcome = event.get("outcome", "") or "ended"

    def close(self, head: str = "", anchors: dict[str, str] | None = None) -> None:
        """Check what only the whole list can tell. `head`: the hash of the last entry, if known;
        `anchors`: hashes that there must be, and where each is kept.
        """
        add = self.problems.append
        if not self.entries:
            add("the ledger is empty: nothing shows that anything was done")
        if head and head != self.previous:
            known = "entries after it were cut off" if self.entries else "its entries are gone"
            add(f"the last entry is not the one with the hash {head[:16]}…: {known}, or it is new")
        for anchor, where in (anchors or {}).items():
            if anchor not in self.hashes:
                add(
                    f"no entry has the hash {anchor[:16]}…, which {where} names: the chain was"
                    " written anew, or its end was cut off"
                )
        self.check_ends()

    def check_ends(self) -> None:
        add = self.problems.append
        for finding in sorted(set(self.reported) - set(self.homes)):
            if self.outcome or finding not in self.fresh:
                add(f"finding {finding} ({self.reported[finding]}) is in no item: it was lost")
        for number, item in sorted(self.items.items()):
            if item.status == "fixed" and not item.proofs:
                add(f"item {number} is called fixed without a proof")
            if item.status == "fixed" and (not item.commit or item.commit not in self.landed):
                add(f"item {number} is called fixed, but no commit of this run has it")
            if self.outcome and item.status not in ENDS and number not in self.listed:
                add(f"item {number} is {item.status}, the run has ended, and it is on no list")

    def count(self) -> dict[str, int]:
        """Return the sums: findings reported = items + merged + seen again (+ not sorted yet)."""
        items = self.items.values()
        sums = {status: sum(item.status == status for item in items) for status in MOVES}
        placed = sum(item.findings for item in items)
        sums.update(items=len(items), merged=placed - len(items), seen_again=self.sightings)
        sums.update(reported=len(self.reported), refused=self.refused, listed=len(self.listed))
        return sums

    def account(self) -> dict[str, Any]:
        said = {"run": self.run, "entries": self.entries, "ended": self.outcome, **self.count()}
        return {
            **said,
            "head": self.previous,
            "ok": not self.problems,
            "problems": list(self.problems),
        }


def describe_account(account: dict[str, Any]) -> str:
    lines = ["PROBLEM  " + problem for problem in account["problems"]]
    counts = (f"{account[status]} {status}" for status in MOVES if account[status])
    state = "ended ({})".format(account["ended"]) if account["ended"] else "has not ended"
    lines.append("run {}: {} entries, {}".format(account["run"] or "?", account["entries"], state))
    lines.append(
        "{} findings reported, {} items: {}; {} left on the list".format(
            account["reported"], account["items"], ", ".join(counts) or "none", account["listed"]
        )
    )
    verdict = "adds up" if account["ok"] else "does NOT add up"
    problems = "" if account["ok"] else ": {} problems".format(len(account["problems"]))
    return "\n".join([*lines, f"the ledger {verdict}{problems}", ""])


def main() -> int:
    import argparse

    parser = argparse.ArgumentParser(description="Verify an exported punchlist ledger.")
    parser.add_argument("ledger", help='what `punchlist audit --export FILE` wrote; "-" for stdin')
    parser.add_argument("--head", default="", help="the hash of its last entry, if known")
    parser.add_argument("--anchor", action="append", default=[], help="a hash that it must have")
    parser.add_argument("--json", action="store_true", help="print the account as JSON")
    options = parser.parse_args()
    ledger = Ledger()
    try:
        number = 0 if options.ledger == "-" else options.ledger
        with open(number, "rb") as file:  # noqa: PTH123 - standard input has no path
            for line in file:
                ledger.add_line(line.rstrip(b"\r\n"))
    except OSError as error:
        sys.stderr.write(f"{options.ledger} cannot be read: {error.strerror}\n")
        return 2
    ledger.close(options.head, dict.fromkeys(options.anchor, "--anchor"))
    account = ledger.account()
    whole = json.dumps(account, indent=2) + "\n"
    sys.stdout.write(whole if options.json else describe_account(account))
    return 0 if account["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
