#!/usr/bin/env python3
"""Verify an exported punchlist ledger (JSON lines) without punchlist: the hash chain, and that no
finding was lost.

    python verify_ledger.py LEDGER.jsonl [--json]    ("-" is standard input; exit 0: it adds up, 1: it does not, 2: unreadable)

The laws, each checked from the lines alone: 1. Entry n+1 names the hash of entry n; every hash
fits its line; numbers have no gaps; all lines are of one run. 2. Every (place, key) is recorded
once. 3. Every reported finding is in exactly one item, as one of its first findings or as a
later sighting. 4. An item moves by the table below only; one that is fixed has a proof, and a
commit that the run made. 5. Once the run has ended, every item is fixed, filed or dismissed, or
is on the list of those that were left.
"""

# One file for any Python from 3.8 on, short enough to be read whole; it prints what it finds.
# ruff: noqa: ANN001, ANN201, ANN204, PTH123

import argparse
import hashlib
import json
import re
import sys

TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')

LIVE = {
    "said-fixed": "claimed",
    "said-deferred": "deferred",
    "said-blocked": "blocked",
    "contested": "open",
}
LIVE.update({"excuse-refused": "open", "set-aside": "open"})
LIVE.update(
    {
        "contest-agreed": "dismissed",
        "filed": "filed",
        "dismissed": "dismissed",
        "seen-again": "open",
        "absent": "deferred",
    }
)
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


class Item:
    def __init__(self, status):
        self.status, self.proofs, self.commit = status, [], ""

    def move(self, move):
        before, fact = self.status, move.get("fact")
        self.status = MOVES[before].get(fact, before)
        if fact == "committed" and self.status == "fixed" and before != "fixed":
            self.proofs, self.commit = move.get("proofs", []), move.get("ref", "")


class Ledger:
    """What the lines say so far, and what is wrong with it."""

    def __init__(self):
        self.run = self.previous = self.outcome = ""
        self.entries = 0
        self.reported, self.homes, self.items = {}, {}, {}
        self.actions, self.fresh, self.listed, self.landed = set(), set(), set(), set()
        self.problems = []

    def wrong(self, what):
        self.problems.append(f"entry {self.entries}: {what}")

    def line(self, line):
        self.entries += 1
        try:
            entry = json.loads(line.decode("utf-8"))
            self.link(entry, line)
            self.tell(entry["place"], entry["key"], entry["event"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.wrong(f"is no entry of a ledger: {error!r}")

    def tell(self, place, key, event):
        if (place, key) in self.actions:
            self.wrong(f"{place} {key} is recorded twice")
        self.actions.add((place, key))
        for move in event.get("moves", []):
            self.move(move)
        told = getattr(self, "on_" + event["kind"], None)
        if told:
            told(event)

    def link(self, entry, line):
        tail = TAIL.search(line)
        self.run = self.run or entry.get("run", "")
        if entry.get("run") != self.run:
            self.wrong("belongs to run {}, not to {}".format(entry.get("run"), self.run))
        if entry.get("seq") != self.entries:
            self.wrong(
                "says it is entry {}: one is missing, or one is too many".format(entry.get("seq"))
            )
        if entry.get("prev") != self.previous:
            self.wrong(
                "does not follow the one before it: an entry was changed, added or taken out"
            )
        if not tail or hashlib.sha256(line[: tail.start()] + b"}").hexdigest() != entry.get("hash"):
            self.wrong("was changed after it was written: its hash does not fit")
        self.previous = entry.get("hash", "")

    def move(self, move):
        item = self.items.get(move.get("item"))
        if item is None:
            self.wrong("moves item {}, which there is not".format(move.get("item")))
        elif move.get("fact") not in FACTS:
            self.wrong("item {}: {} is no fact".format(move.get("item"), move.get("fact")))
        else:
            item.move(move)

    def on_reviewed(self, event):
        for finding in event.get("findings", []):
            if finding["id"] in self.reported:
                self.wrong("finding {} was reported twice under one id".format(finding["id"]))
            self.reported[finding["id"]] = event.get("reviewer", "")
            self.fresh.add(finding["id"])

    def on_consolidated(self, event):
        for item in event.get("items", []):
            if item["number"] in self.items:
                self.wrong("item {} is there already".format(item["number"]))
            self.items[item["number"]] = Item(item.get("status", "open"))
            if item.get("status", "open") not in ("open", "deferred", "blocked"):
                self.wrong("item {} begins as {}".format(item["number"], item["status"]))
            for finding in item["findings"]:
                self.house(finding["id"], item["number"])
        for sighting in event.get("sightings", []):
            if sighting["item"] not in self.items:
                self.wrong("sees item {} again, which there is not".format(sighting["item"]))
            self.house(sighting["finding"]["id"], sighting["item"])

    def house(self, finding, item):
        if finding not in self.reported:
            self.wrong(f"finding {finding} of item {item} was reported by nobody")
        if finding in self.homes:
            self.wrong(f"finding {finding} is in item {self.homes[finding]} and in item {item}")
        self.homes[finding] = item
        self.fresh.discard(finding)

    def on_committed(self, event):
        self.landed.update(landed["commit"] for landed in event.get("landed", []))

    def on_reported(self, event):
        self.listed = set(event.get("listed", []))

    def on_ended(self, event):
        self.outcome = event.get("outcome", "") or "ended"

    def close(self):
        """What only the whole list can tell."""
        if not self.entries:
            self.problems.append("the ledger is empty: nothing shows that anything was done")
        for finding in sorted(set(self.reported) - set(self.homes)):
            if self.outcome or finding not in self.fresh:
                self.problems.append(
                    f"finding {finding} ({self.reported[finding]}) is in no item: it was lost"
                )
        for number, item in sorted(self.items.items()):
            if item.status == "fixed" and not item.proofs:
                self.problems.append(f"item {number} is called fixed without a proof")
            if item.status == "fixed" and (not item.commit or item.commit not in self.landed):
                self.problems.append(
                    f"item {number} is called fixed, but no commit of this run has it"
                )
            if self.outcome and item.status not in ENDS and number not in self.listed:
                self.problems.append(
                    f"item {number} is {item.status}, the run has ended, and it is on no list"
                )

    def account(self):
        tally = {
            status: sum(item.status == status for item in self.items.values()) for status in MOVES
        }
        told = {
            "run": self.run,
            "entries": self.entries,
            "ended": self.outcome,
            "reported": len(self.reported),
            **tally,
        }
        told.update(items=len(self.items), waiting=len(self.fresh), listed=len(self.listed))
        return {**told, "ok": not self.problems, "problems": self.problems}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "ledger", help='the file that `punchlist audit --export` wrote; "-" for standard input'
    )
    parser.add_argument("--json", action="store_true", help="print the account as JSON")
    options = parser.parse_args()
    ledger = Ledger()
    try:
        with sys.stdin.buffer if options.ledger == "-" else open(options.ledger, "rb") as file:
            for line in file:
                ledger.line(line.rstrip(b"\r\n"))
    except OSError as error:
        print(f"{options.ledger} cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    ledger.close()
    account = ledger.account()
    if options.json:
        print(json.dumps(account, indent=2))
        return 0 if account["ok"] else 1
    for problem in account["problems"]:
        print("PROBLEM  " + problem)
    counts = (
        ", ".join(f"{account[status]} {status}" for status in MOVES if account[status]) or "none"
    )
    state = f"ended ({ledger.outcome})" if ledger.outcome else "has not ended"
    print(f"run {ledger.run or '?'}: {ledger.entries} entries, {state}")
    print(
        f"{account['reported']} findings reported, {account['items']} items: {counts};"
        f" {account['listed']} left on the list"
    )
    print(
        "the ledger adds up"
        if account["ok"]
        else f"the ledger does NOT add up: {len(ledger.problems)} problems"
    )
    return 0 if account["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
