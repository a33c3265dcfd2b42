#!/usr/bin/env python3
"""Verify an exported punchlist ledger (JSON lines) without punchlist: the hash chain, and that no finding was lost.

    python verify_ledger.py LEDGER.jsonl [--json]        ("-" reads standard input; exit 0: it adds up, 1: it does not, 2: not readable)

The laws, each checked from the lines alone:
  1. Entry n+1 names the hash of entry n; every hash fits its line; numbers have no gaps; all lines are of one run.
  2. Every (place, key) is recorded once.
  3. Every reported finding is in exactly one item, as one of its first findings or as a later sighting.
  4. An item moves by the table below only; one that is fixed has a proof, and a commit that the run made.
  5. Once the run has ended, every item is fixed, filed or dismissed, or is on the list of those that were left.
"""

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
    "contest-agreed": "dismissed",
    "filed": "filed",
    "dismissed": "dismissed",
    "seen-again": "open",
}
MOVES = {
    "open": LIVE,
    "deferred": LIVE,
    "claimed": {"rejected": "open", "committed": "fixed", "filed": "filed"},
    "blocked": {"filed": "filed", "dismissed": "dismissed", "seen-again": "blocked"},
    "fixed": {"seen-again": "open"},
    "filed": {},
    "dismissed": {},
}
ENDS = ("fixed", "filed", "dismissed")
FACTS = set(LIVE) | {"rejected", "committed"}


class Item:
    def __init__(self, status):
        self.status = status
        self.proofs = []
        self.commit = ""

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
        self.actions = set()
        self.reported = {}
        self.homes = {}
        self.fresh = set()
        self.items = {}
        self.listed = set()
        self.landed = set()
        self.problems = []

    def wrong(self, what):
        self.problems.append("entry %d: %s" % (self.entries, what))

    def line(self, line):
        self.entries += 1
        tail = TAIL.search(line)
        try:
            entry = json.loads(line.decode("utf-8"))
            event, place, seq = entry["event"], (entry["place"], entry["key"]), entry["seq"]
            kind = event["kind"]
        except (ValueError, KeyError, TypeError) as error:
            self.wrong("is no entry of a ledger: %r" % (error,))
            return
        self.link(entry, line, tail, seq)
        if place in self.actions:
            self.wrong("%s %s is recorded twice" % place)
        self.actions.add(place)
        if self.outcome and kind not in ("filed", "dismissed"):
            self.wrong("%s after the run had ended" % kind)
        for move in event.get("moves", []):
            self.move(move)
        told = getattr(self, "on_" + kind, None)
        if told:
            told(event)

    def link(self, entry, line, tail, seq):
        self.run = self.run or entry.get("run", "")
        if entry.get("run") != self.run:
            self.wrong("belongs to run %s, not to %s" % (entry.get("run"), self.run))
        if seq != self.entries:
            self.wrong("says it is entry %s: one is missing, or one is too many" % seq)
        if entry.get("prev") != self.previous:
            self.wrong("does not follow the one before it: an entry was changed, added or taken out")
        if not tail or hashlib.sha256(line[: tail.start()] + b"}").hexdigest() != entry.get("hash"):
            self.wrong("was changed after it was written: its hash does not fit")
        self.previous = entry.get("hash", "")

    def move(self, move):
        item = self.items.get(move.get("item"))
        if item is None:
            self.wrong("moves item %s, which there is not" % move.get("item"))
        elif move.get("fact") not in FACTS:
            self.wrong("item %s: %s is no fact" % (move.get("item"), move.get("fact")))
        else:
            item.move(move)

    def on_reviewed(self, event):
        for finding in event.get("findings", []):
            if finding["id"] in self.reported:
                self.wrong("finding %s was reported twice under one id" % finding["id"])
            self.reported[finding["id"]] = event.get("reviewer", "")
            self.fresh.add(finding["id"])

    def on_consolidated(self, event):
        for item in event.get("items", []):
            if item["number"] in self.items:
                self.wrong("item %s is there already" % item["number"])
            self.items[item["number"]] = Item(item.get("status", "open"))
            if item.get("status", "open") not in ("open", "deferred", "blocked"):
                self.wrong("item %s begins as %s" % (item["number"], item["status"]))
            for finding in item["findings"]:
                self.house(finding["id"], item["number"])
        for sighting in event.get("sightings", []):
            if sighting["item"] not in self.items:
                self.wrong("sees item %s again, which there is not" % sighting["item"])
            self.house(sighting["finding"]["id"], sighting["item"])

    def house(self, finding, item):
        if finding not in self.reported:
            self.wrong("finding %s of item %s was reported by nobody" % (finding, item))
        if finding in self.homes:
            self.wrong("finding %s is in item %s and in item %s" % (finding, self.homes[finding], item))
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
                self.problems.append("finding %s (%s) is in no item: it was lost" % (finding, self.reported[finding]))
        for number, item in sorted(self.items.items()):
            if item.status == "fixed" and not item.proofs:
                self.problems.append("item %s is called fixed without a proof" % number)
            if item.status == "fixed" and (not item.commit or item.commit not in self.landed):
                self.problems.append("item %s is called fixed, but no commit of this run has it" % number)
            if self.outcome and item.status not in ENDS and number not in self.listed:
                self.problems.append("item %s is %s, the run has ended, and it is on no list" % (number, item.status))

    def account(self):
        tally = {status: sum(item.status == status for item in self.items.values()) for status in MOVES}
        return dict(run=self.run, entries=self.entries, ended=self.outcome, reported=len(self.reported), items=len(self.items),
                    waiting=len(self.fresh), listed=len(self.listed), ok=not self.problems, problems=self.problems, **tally)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ledger", help='the file that `punchlist audit --export` wrote; "-" for standard input')
    parser.add_argument("--json", action="store_true", help="print the account as JSON")
    options = parser.parse_args()
    ledger = Ledger()
    try:
        with sys.stdin.buffer if options.ledger == "-" else open(options.ledger, "rb") as file:
            for line in file:
                ledger.line(line.rstrip(b"\r\n"))
    except OSError as error:
        print("%s cannot be read: %s" % (options.ledger, error.strerror), file=sys.stderr)
        return 2
    ledger.close()
    account = ledger.account()
    if options.json:
        print(json.dumps(account, indent=2))
        return 0 if account["ok"] else 1
    for problem in account["problems"]:
        print("PROBLEM  " + problem)
    counts = ", ".join("%d %s" % (account[status], status) for status in MOVES if account[status]) or "none"
    state = "ended (%s)" % account["ended"] if account["ended"] else "has not ended"
    print("run %s: %d entries, %s" % (account["run"] or "?", account["entries"], state))
    print("%d findings reported, %d items: %s; %d left on the list" % (account["reported"], account["items"], counts, account["listed"]))
    print("the ledger adds up" if account["ok"] else "the ledger does NOT add up: %d problems" % len(account["problems"]))
    return 0 if account["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
