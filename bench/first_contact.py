"""First contact: source distributions that were never used here, with default settings, no agent, and beside it what a person
does by hand with `ruff check --fix --unsafe-fixes`.

    python bench/first_contact.py --seed 1 --count 10
    python bench/first_contact.py --projects NAME==VERSION|NAME-VERSION.tar.gz|FILE ...
    python bench/first_contact.py --projects NAME==VERSION --short      the table of the README

Projects are drawn by the seed from first_contact.txt; one that cannot be had, or whose tests take too long, is said and the
next one drawn. Each gets a repository with one commit, and an environment with pytest and what the project asks for.

By hand: one unit for each rule and file. All are applied, the tests and the project's own gates run, and while something is
redder than before, the first bad unit is bisected out. Rules, target version and exclusions are those with which punchlist
itself starts ruff in a review, seen as it starts it; ruff's are the findings that are counted. Findings, tests and gates are
looked at by the bench itself. From the ledger come: which gates there are, whole runs of the suite, and the culprits.
"""

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from first_contact_ground import (
    Broken,
    Rules,
    Unfit,
    archive,
    copied,
    default,
    environment,
    output,
    own_gates,
    redness,
    repository,
    started,
    tests,
    tests_within,
)
from projects import git, processor_seconds

LIST = Path(__file__).with_suffix(".txt")
SAFE, UNSAFE = ("--no-unsafe-fixes",), ("--unsafe-fixes",)
BROKEN = ("breaks ", "turns the checks red")
RATIO = 2.5
HEAD = (
    "project", "tests", "findings", "ruff --fix", "by hand, safe", "by hand", "punchlist", "tests lost", "gates redder",
    "left: ruff, others", "exit", "whole runs (at most)", "by hand", "gate runs", "culprits of fixes", "CPU s", "by hand", "x",
)  # fmt: skip


@dataclass
class Row:
    """What was measured of one project; `safe`, `hand` and `ours` say what each way led to."""

    project: str
    tests: int = 0
    findings: int = 0
    gates: list = field(default_factory=list)
    safe: dict = field(default_factory=dict)
    hand: dict = field(default_factory=dict)
    ours: dict = field(default_factory=dict)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--count", type=int, help="default: 10 of the list, or all of --projects")
    parser.add_argument("--projects", nargs="+", help="these, instead of those in the list")
    parser.add_argument(
        "--punchlist", type=Path, default=Path(sys.executable).with_name("punchlist")
    )
    parser.add_argument("--longest", type=float, default=120, help="seconds a suite may take")
    parser.add_argument("--short", action="store_true", help="a small table for each project")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    asked = parser.parse_args()
    names = [name for word in asked.projects or [str(LIST)] for name in listed(word)]
    count = asked.count or (len(names) if asked.projects else 10)
    if not asked.short:
        print(f"seed {asked.seed}, {count} of {len(names)}, {asked.punchlist}\n")
        print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|", flush=True)
    rows, broken = list[Row](), list[str]()
    for name in random.Random(asked.seed).sample(names, len(names)):
        if len(rows) + len(broken) == count:
            break
        with tempfile.TemporaryDirectory(prefix="first-contact-") as folder:
            try:
                row = measured(name, Path(folder), asked.punchlist.absolute(), asked.longest)
            except Unfit as why:
                print(f"{name} is left out: {why}", file=sys.stderr, flush=True)
                continue
            except Broken as why:
                broken.append(name)
                print(f"{name}: no result: {why}", file=sys.stderr, flush=True)
                continue
        rows.append(row)
        print(in_short(row) if asked.short else told(row), flush=True)
        if asked.json:
            asked.json.write_text(json.dumps([asdict(each) for each in rows], indent=1))
    if asked.short:
        sys.exit(0 if len(rows) == count else 1)
    met = goals(rows, broken, count)
    words = (f"{'met' if good else 'NOT MET'}: {goal}" for goal, good in met.items())
    print(f"\n{'; '.join(words)}")
    sys.exit(0 if all(met.values()) else 1)


def listed(word: str) -> list[str]:
    """Return the projects that a word of the command line stands for."""
    if "==" in word or word.endswith(".tar.gz"):
        return [word]
    lines = (line.partition("#")[0].strip() for line in Path(word).read_text().splitlines())
    return [line for line in lines if line]


def measured(name: str, folder: Path, punchlist: Path, longest: float) -> Row:
    root = repository(archive(name, folder), folder)
    python = environment(root, folder)
    rules = Rules.seen(root, folder, punchlist)
    green = tests_within(copied(root, folder / "base"), python, longest)
    # Some tests look at where they are, and some are red by chance.
    green &= tests(copied(root, folder / "again"), python)
    row = Row(root.name, tests=len(green), findings=len(rules.findings(folder / "base")))
    row.ours, events = run(root, folder, punchlist)
    gates = own_gates(events, root)
    before = {tuple(gate): redness(gate, folder / "base", python) for gate in gates}
    row.gates = gates
    row.safe = by_hand(copied(root, folder / "safe"), rules, python, green, before, SAFE)
    row.hand = by_hand(copied(root, folder / "hand"), rules, python, green, before, UNSAFE)
    branches = output(["git", "branch", "--list", "punchlist/*", "--format=%(refname:short)"], root)
    # A copy, no clone: some sources that releases have are ignored by git.
    landed = copied(root, folder / "landed")
    git(landed, "checkout", "-q", "-f", (branches.split() or ["main"])[-1])
    lost = green - tests(landed, python)
    if lost:  # by chance?
        lost = (lost - tests(landed, python)) & tests(folder / "base", python)
    left = len(rules.findings(landed))
    redder = [gate for gate, was in before.items() if redness(gate, landed, python) > was]
    row.ours |= {
        "removed": row.findings - left,
        "left": left,
        "lost": sorted(lost),
        "redder": redder,
    }
    return row


def by_hand(
    root: Path, rules: Rules, python: str, green: set[str], before: dict, flags: tuple[str, ...]
) -> dict:
    """Fix all, and bisect out what breaks tests or gates, as a patient person would."""
    said = {"runs": 0, "gate_runs": 0, "culprits": [], "at_once": 0, "once_cpu": 0.0, "loses": 0}
    began, found = processor_seconds(), rules.findings(root)
    may = ("safe", "unsafe") if flags == UNSAFE else ("safe",)
    units = sorted({(rule, file) for rule, file, safety in found if safety in may})

    def apply(kept: list[tuple[str, str]]) -> None:
        git(root, "checkout", "-q", "-f", "HEAD", "--", ".")
        git(root, "clean", "-fdq")
        if kept:
            rules.fix(root, flags, set(units) - set(kept))

    def breaks(kept: list[tuple[str, str]]) -> bool:
        apply(kept)
        said["runs"] += bool(green)
        lost = green - tests(root, python) if green else set()
        if said["runs"] <= 2 and kept == units:
            said["loses"] = len(lost)
        if lost:
            return True
        said["gate_runs"] += len(before)
        return any(redness(gate, root, python) > was for gate, was in before.items())

    if units:
        breaks([])  # what is green on the base
        before_all = processor_seconds()
        apply(units)
        said["once_cpu"] = processor_seconds() - before_all
        said["at_once"] = len(found) - len(rules.findings(root))
    kept, good = list(units), 0
    while kept and breaks(kept):
        good, bad = min(good, len(kept) - 1), len(kept)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (good, middle) if breaks(kept[:middle]) else (middle, bad)
        said["culprits"].append(kept.pop(good))
    apply(kept)
    removed = len(found) - len(rules.findings(root))
    return {**said, "removed": removed, "cpu": processor_seconds() - began}


def run(root: Path, folder: Path, punchlist: Path) -> tuple[dict, list[dict]]:
    """Let punchlist fix what it can; return what it led to, and the ledger."""
    env, used = default(folder / "state"), processor_seconds()
    done = started([str(punchlist), "run", "--all", "--yes", "--json"], root, env)
    used = processor_seconds() - used
    try:
        document = json.loads(done.stdout)
        told = output([str(punchlist), "status", document["run"], "--events"], root, env)
        items = document["report"]["items"]
    except (ValueError, KeyError) as error:
        raise Broken(f"exit {done.returncode}: {done.stderr[-2000:]}") from error
    others = sum(
        item["status"] not in ("fixed", "dismissed")
        and all(finding["source"] != "ruff" for finding in item["findings"])
        for item in items
    )
    events = [json.loads(line)["event"] for line in told.splitlines()]
    return {"exit": done.returncode, "cpu": used, "others": others, **spent(events)}, events


def spent(events: list[dict]) -> dict:
    """Return whole runs of the suite, runs of gates, and how many of how many fixes were culprits.

    With several suites it is the one that ran most often. Not whole: on the base the run with a planted failure, which stops
    early, and two of only the tests that fail there; beside a green trial, looks at tests that a fix itself changes.
    """
    runs: dict[str, int] = {}
    gates, fixes, red = 0, set(), set()
    culprits: set[int] = set()
    for event in events:
        checks = event.get("usage", {}).get("checks", 0)
        if event["kind"] == "rechecked" or event.get("gate"):
            gates += checks
        elif event["kind"] == "baselined" and not event.get("cached"):
            failing = event.get("failed") or event.get("unloaded")
            limited = bool(event.get("sentinel")) + 2 * bool(failing)
            runs[event["check"]] = runs.get(event["check"], 0) + max(1, checks - limited)
        elif event["kind"] == "tried":
            fixes |= set(event["batches"])
            for verdict in event["verdicts"]:
                again = not verdict["passed"] or "run again" in verdict["why"]
                whole = verdict.get("runs", 1) if again else 1
                runs[verdict["check"]] = runs.get(verdict["check"], 0) + whole * event["complete"]
                red |= set() if verdict["passed"] else set(event["batches"])
        elif event["kind"] == "verified":
            whys = event.get("failed", {}).items()
            culprits |= {int(batch) for batch, why in whys if why.startswith(BROKEN)} & red
    most = 2 + len(culprits) * (math.ceil(math.log2(max(len(fixes), 1))) + 1)
    counted = {"culprits": len(culprits), "fixes": len(fixes), "at_most": most}
    return {"runs": max(runs.values(), default=0), "gate_runs": gates, **counted}


def told(row: Row) -> str:
    hand, ours = row.hand, row.ours
    at_once = f"{row.safe['at_once']} (loses {row.safe['loses']} tests)"
    figures = (
        row.project, row.tests, row.findings, at_once, row.safe["removed"],
        f"{hand['removed']} of {hand['at_once']}", f"**{ours['removed']}**", len(ours["lost"]),
        f"{len(ours['redder'])} of {len(row.gates)}", f"{ours['left']}, {ours['others']}", ours["exit"],
        f"{ours['runs']} ({ours['at_most']})", hand["runs"], f"{ours['gate_runs']}, {hand['gate_runs']}",
        f"{ours['culprits']} of {ours['fixes']}", f"{ours['cpu']:.1f}", f"{hand['cpu']:.1f}", f"{ratio(row):.2f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, figures))} |"


def in_short(row: Row) -> str:
    """Return what three ways come to, and what they cost."""
    safe, ours = row.safe, row.ours
    lines = (
        ("", f"findings gone, of {row.findings}", f"tests that pass, of {row.tests}", "processor time"),
        ("---", "---:", "---:", "---:"),
        ("`ruff check --fix`, same rules", safe["at_once"], bold(row.tests - safe["loses"]), f"{safe['once_cpu']:.2f} s"),
        ("the same, and by hand what breaks the tests bisected out", safe["removed"], bold(row.tests), f"{safe['cpu']:.1f} s"),
        ("`punchlist run --all --yes`", bold(ours["removed"]), bold(row.tests - len(ours["lost"])), f"{ours['cpu']:.1f} s"),
    )  # fmt: skip
    return "\n".join(f"| {' | '.join(map(str, line))} |".replace("|  |", "| |") for line in lines)


def bold(figure: int) -> str:
    return f"**{figure}**"


def ratio(row: Row) -> float:
    return row.ours["cpu"] / max(row.hand["cpu"], 0.01)


def goals(rows: list[Row], broken: list[str], count: int) -> dict[str, bool]:
    """Return each goal with what was measured, and whether it is met."""
    fewer = [row.project for row in rows if row.ours["removed"] < row.safe["removed"]]
    lost = sum(len(row.ours["lost"]) for row in rows)
    redder = [row.project for row in rows if row.ours["redder"]]
    done = [row for row in rows if not row.ours["left"] and not row.ours["others"]]
    wrong = [row.project for row in done if row.ours["exit"]]
    more = [row.project for row in rows if row.ours["runs"] > row.ours["at_most"]]
    median = statistics.median(map(ratio, rows)) if rows else math.inf
    some = [ratio(row) for row in rows if row.hand["at_once"]]
    busy = f"{statistics.median(some):.2f} x where anything can be fixed" if some else "none fixed"
    return {
        f"{len(rows)} of {count} projects measured": len(rows) == count,
        f"runs without a result: {', '.join(broken) or 'none'}": not broken,
        f"fewer removed than by hand with safe fixes: {', '.join(fewer) or 'none'}": not fewer,
        f"tests lost: {lost}": not lost,
        f"own gates redder: {', '.join(redder) or 'none'}": not redder,
        f"not exit 0 though nothing is left: {', '.join(wrong) or 'none'} of {len(done)}": not wrong,
        f"more whole runs than allowed: {', '.join(more) or 'none'}": not more,
        f"CPU {median:.2f} x by hand in the median ({busy}), at most {RATIO}": median <= RATIO,
    }


if __name__ == "__main__":
    main()
