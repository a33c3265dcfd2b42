"""An agent that obeys every instruction it reads: what it achieves through the real command line, by aim.

    python bench/obedient/run.py [--sample] [--seed 1] [--user root|other|self] [--level bubblewrap|none|required] [--aim NAME]

Each aim's errands are planted in twelve kinds of places of a made-up repository, home and set of reports; `punchlist run` then asks
the obedient agent as reviewer, reproducer, fixer and challenger. Every success is measured from outside. Run as root it does all
of it twice, as root and as an ordinary user.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from commands import BARE, BUBBLEWRAP, LEVELS, NONE, PLANS, REQUIRED
from errands import AIMS, BREAK
from measured import measure_plan
from world import OTHER_UID, ROOT, World, choose_ground, find_python

SAMPLE = 6


def main():
    asked = _arguments()
    results = []
    for name, uid in _users(asked):
        for level in asked.level or (BUBBLEWRAP, NONE, REQUIRED):
            results += run_level(asked, name, uid, level)
    if asked.results:
        with asked.results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(result) + "\n" for result in results)
    print(table(results))
    return any(result["successes"] for result in results if result["level"] == BUBBLEWRAP)


def _arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="draws ways, words and places")
    parser.add_argument("--sample", action="store_true", help=f"{SAMPLE} errands of each aim only")
    parser.add_argument("--user", action="append", choices=["root", "other", "self"])
    parser.add_argument("--level", action="append", choices=LEVELS)
    parser.add_argument("--aim", action="append", choices=AIMS)
    parser.add_argument(
        "--source", type=Path, default=ROOT / "src", help="the punchlist to measure"
    )
    parser.add_argument("--set", action="append", default=[], help="a setting for every run")
    parser.add_argument("--results", type=Path, help="append results as lines of JSON")
    parser.add_argument("--keep", action="store_true", help="keep the worlds")
    return parser.parse_args()


def _users(asked):
    if os.getuid():
        return [("user", os.getuid())]
    both = {"root": 0, "other": OTHER_UID, "self": 0}
    return [
        ("root" if not both[name] else "user", both[name])
        for name in asked.user or ("root", "other")
    ]


def run_level(asked, name, uid, level):
    """Every plan that has errands of the aims asked for, in a world of its own."""
    python = find_python(uid)
    if not python or choose_ground() is None:
        print(f"NOT MEASURED as {name}: no Python that this user can start", file=sys.stderr)
        return
    for plan in PLANS if level in (BUBBLEWRAP, NONE) else PLANS[:1]:
        aims = [aim for aim in plan.aims if not asked.aim or aim in asked.aim]
        if level == BARE and not plan.items:
            aims = [aim for aim in aims if aim != BREAK]  # there is nothing to break out of
        if aims:
            yield _run_plan(asked, plan, aims, name, uid, level, python)


def _run_plan(asked, plan, aims, name, uid, level, python):
    began = time.monotonic()
    extra = [word for each in asked.set for word in ("--set", each)]
    each = SAMPLE if asked.sample else None
    result = measure_plan(
        World(asked.seed, uid, python, plan, aims, each),
        level,
        asked.source,
        extra,
        keep=asked.keep,
    )
    result |= {"user": name}
    spent = time.monotonic() - began
    calls = ", ".join(f"{role} {count}" for role, count in sorted(result["calls"].items()))
    head = f"{name}, {level}, {plan.name}: exit {result['code']}, {spent:.0f} s; calls: {calls}"
    print(head, file=sys.stderr, flush=True)
    print_lists(result)
    return result


def print_lists(result):
    """All that is to be closed, and what was not measured."""
    for line in result["successes"]:
        print(f"    {line}", file=sys.stderr)
    for kind in ("leaks", "unfenced", "changed", "left", "missed"):
        for line in result[kind]:
            print(f"    {kind}: {line}", file=sys.stderr)
    if result["error"]:
        print(result["error"], file=sys.stderr)


def table(results):
    """A row for each aim, a column for each user and level."""
    columns = list(dict.fromkeys((result["user"], result["level"]) for result in results))
    heads = [f"{user}, {level}" for user, level in columns]
    lines = ["| aim | " + " | ".join(heads) + " |", "|---" * (len(columns) + 1) + "|"]
    for aim in AIMS:
        cells = [_cell(aim, [r for r in results if (r["user"], r["level"]) == c]) for c in columns]
        lines.append(f"| {aim} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(aim, results):
    counts = [result["aims"][aim] for result in results if aim in result["aims"]]
    if not counts:
        return ""
    if not any(result["calls"] for result in results):
        return "refused to run"
    won, read, planted = (sum(each) for each in zip(*counts, strict=True))
    return f"{won} of {read}" + (f" ({planted - read} unread)" if planted > read else "")


if __name__ == "__main__":
    sys.exit(main())
