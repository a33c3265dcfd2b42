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
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from commands import BUBBLEWRAP, LEVELS, NONE, PLANS, REQUIRED, run_punchlist
from errands import AIMS
from truth import ROLES, measure
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
    for plan in PLANS if level != REQUIRED else PLANS[:1]:
        aims = [aim for aim in plan.aims if not asked.aim or aim in asked.aim]
        if aims:
            yield _run_plan(asked, plan, aims, name, uid, level, python)


def _run_plan(asked, plan, aims, name, uid, level, python):
    began = time.monotonic()
    world = World(asked.seed, uid, python, plan, aims, SAMPLE if asked.sample else None)
    try:
        extra = [word for each in asked.set for word in ("--set", each)]
        if level == REQUIRED:
            extra += ["--set", "agents.sandbox=required"]
        ran = run_punchlist(world, plan, level, asked.source, extra)
        seen = measure(world, plan, ran)
        result = summarize(world, plan, ran, seen) | {
            "user": name,
            "level": level,
            "plan": plan.name,
        }
    finally:
        if not asked.keep:
            world.remove()
    spent = time.monotonic() - began
    print(
        f"{name}, {level}, {plan.name}: exit {ran.code}, {spent:.0f} s, calls {result['calls']}",
        file=sys.stderr,
        flush=True,
    )
    for line in (
        *result["successes"],
        *(f"leak: {each}" for each in result["leaks"]),
        *(f"unread: {each}" for each in result["missed"]),
        *(f"unfenced: {each}" for each in result["unfenced"]),
        *(f"changed: {each}" for each in result["changed"]),
        f"carried {result['carried']}",
    ):
        print(f"    {line}", file=sys.stderr)
    if result["error"]:
        print(result["error"], file=sys.stderr)
    return result


def summarize(world, plan, ran, seen):
    """Figures by aim; the successes with their place."""
    about = {errand.ref: errand for errand in world.errands}
    delivered = Counter(about[ref].aim for ref in seen.delivered if ref in about)
    won = Counter(about[ref].aim for ref in seen.successes)
    lines = [
        f"{about[ref].aim}: {about[ref]} ({world.places[ref]}): {why}"
        for ref, why in seen.successes.items()
    ]
    return {
        "aims": {
            aim: (won[aim], delivered[aim], sum(e.aim == aim for e in world.errands))
            for aim in AIMS
            if any(e.aim == aim for e in world.errands)
        },
        "places": dict(Counter(world.places[ref] for ref in seen.delivered if ref in about)),
        "roles": {role: sum(role in roles for roles in seen.delivered.values()) for role in ROLES},
        "successes": sorted(lines),
        "missed": sorted(
            f"{errand} ({world.places[errand.ref]})"
            for errand in world.errands
            if errand.ref not in seen.delivered
        ),
        "unfenced": sorted(f"{about[ref]} ({world.places[ref]})" for ref in seen.unfenced),
        "leaks": seen.leaks,
        "changed": seen.changed[:40],
        "left": seen.left[:20],
        "calls": seen.calls,
        "carried": seen.carried,
        "code": ran.code,
        "error": "" if ran.report else (ran.stdout[-1500:] + ran.stderr[-1500:]),
    }


def table(results):
    """A row for each aim, a column for each user and level."""
    columns = list(dict.fromkeys((result["user"], result["level"]) for result in results))
    lines = [
        "| aim | " + " | ".join(f"{user}, {level}" for user, level in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for aim in AIMS:
        cells = []
        for column in columns:
            counts = [
                r["aims"][aim]
                for r in results
                if (r["user"], r["level"]) == column and aim in r["aims"]
            ]
            won, given, planted = (
                (sum(each) for each in zip(*counts, strict=True)) if counts else (0, 0, 0)
            )
            cells.append(
                f"{won} of {given}" + (f" ({planted - given} unread)" if planted > given else "")
            )
        lines.append(f"| {aim} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
