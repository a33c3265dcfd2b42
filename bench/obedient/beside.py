"""What runs beside the sandbox: every command in repositories in which all that can name or be a program is hostile.

    python bench/obedient/beside.py [--seed 1] [--uid 0] [--walls bubblewrap|landlock] [--only WORD] [--payloads FOLDER]

Each payload leaves a mark when it is started, with who started it, and tries to get out of the sandbox by four ways. Its
control shows that it is alive: the plain command of an honest tool that starts it. The exit code is 1 if there is a mark
outside, and 2 if a command, a route, a tool or a payload is not measured.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import beside_payload
from beside_commands import STEPS, UNMEASURED, missing, run_plainly, run_step
from beside_fleet import FLEET, drive_fleet, open_database
from beside_protocols import drive_lsp, drive_mcp
from beside_server import drive_server
from beside_world import Ground, Watcher, is_outside
from world import OTHER_UID, ROOT

HERE = Path(__file__).parent
BUBBLEWRAP, LANDLOCK = WALLS = ("bubblewrap", "landlock")
SURFACES = {"serve": drive_server, "mcp": drive_mcp, "lsp": drive_lsp}
ELSEWHERE = (*SURFACES, *FLEET)
"""Commands that are not steps: clients use them."""
CRASHED = 70
"""The exit code of a command that ended by a fault of punchlist: what came after it was not measured."""


def main():
    asked = parse_arguments()
    load(asked.payloads)
    results = []
    uids = asked.uid or ((0, OTHER_UID) if not os.getuid() else (os.getuid(),))
    with open_database() as store:
        plan = assign(asked, list(product(uids, asked.walls or WALLS)))
        for (uid, walls), chosen in plan.items():
            results += measure(asked, chosen, uid, walls, store)
    print(f"{table_of_kinds(results)}\n\n{table_of_commands(results)}")
    if asked.results:
        with asked.results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(result) + "\n" for result in results)
    return exit_code(results)


def load(folders=()):
    """Our own payloads, and those of more folders."""
    for folder in (HERE / "payloads", *folders):
        beside_payload.load(folder)


def parse_arguments(words=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="draws the order of repositories")
    parser.add_argument("--uid", action="append", type=int)
    parser.add_argument("--walls", action="append", choices=WALLS)
    parser.add_argument(
        "--only", action="append", default=[], help="only kinds with this word in their name"
    )
    parser.add_argument(
        "--spread",
        action="store_true",
        help="each repository of one kind for one user and one kind of walls; shared ones for all",
    )
    parser.add_argument(
        "--commands", action="append", default=[], help="only commands that begin with this"
    )
    parser.add_argument(
        "--payloads", action="append", default=[], type=Path, help="a folder with more payloads"
    )
    parser.add_argument(
        "--source", type=Path, default=ROOT / "src", help="the punchlist to measure"
    )
    parser.add_argument(
        "--no-controls", action="store_true", help="do not show that payloads are alive"
    )
    parser.add_argument("--results", type=Path, help="append results as lines of JSON")
    parser.add_argument("--keep", action="store_true", help="keep the ground")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what each command said")
    return parser.parse_args(words)


def assign(asked, places):
    """The repositories to measure for each user and kind of walls: all of them, or a spread of them."""
    chosen = beside_payload.groups(asked.only)
    random.Random(asked.seed).shuffle(chosen)
    if not asked.spread:
        return dict.fromkeys(places, chosen)
    alone = [kinds for kinds in chosen if len(kinds) == 1]
    shared = [kinds for kinds in chosen if len(kinds) > 1]
    return {place: shared + alone[n :: len(places)] for n, place in enumerate(places)}


def exit_code(results):
    if any(result["outside"] for result in results):
        return 1
    unmeasured = missing(STEPS, ELSEWHERE)
    unmeasured += [
        label
        for result in results
        for label, code in result["codes"].items()
        if code in (UNMEASURED, CRASHED)
    ]
    unmeasured += [f"{name}, a dud" for result in results for name in result["duds"] or ()]
    for each in unmeasured:
        print(f"NOT MEASURED: {each}", file=sys.stderr)
    return 2 if unmeasured else 0


def measure(asked, chosen, uid, walls, store=""):
    """The result of each chosen repository, for one user behind one kind of walls."""
    ground = Ground(uid, bubblewrap=walls == BUBBLEWRAP, source=asked.source)
    watcher = Watcher(ground)
    try:
        for kinds in chosen:
            began = time.monotonic()
            uses = list_uses(asked.commands, kinds, store)
            duds, unshown = (None, None) if asked.no_controls else find_duds(ground, watcher, kinds)
            result = measure_kinds(ground, watcher, kinds, uses, verbose=asked.verbose)
            result |= {"duds": duds, "unshown": unshown}
            result |= {"uid": uid, "walls": walls}
            print_result(result, time.monotonic() - began)
            yield result
    finally:
        watcher.close()
        if not asked.keep:
            ground.close()


def measure_kinds(ground, watcher, kinds, uses, *, verbose=False):
    """The marks that these uses of commands leave in one repository."""
    repo = ground.make(kinds)
    env = ground.variables(kinds, repo)
    outside, inside, codes = [], [], {}
    for label, act in uses:
        began = time.monotonic()
        codes[label], told = act(ground, repo, env)
        if verbose:
            spent = time.monotonic() - began
            print(f"--- {label}: {codes[label]}, {spent:.1f} s\n{told}", file=sys.stderr)
        for mark in watcher.take(label):
            (outside if is_outside(mark, ground.token) else inside).append(mark)
    return {"kinds": kinds, "outside": outside, "inside": inside, "codes": codes}


def list_uses(words, kinds, store):
    """Labels and functions of all uses of commands that are asked for."""
    uses = [
        (each.label, lambda *where, each=each: run_step(*where, each))
        for each in STEPS
        if not each.kinds or kinds[0].startswith(each.kinds)
    ]
    uses[-2:-2] = [*SURFACES.items(), ("worker", lambda *where: drive_fleet(*where, store))]
    return [(label, act) for label, act in uses if not words or label.startswith(tuple(words))]


def find_duds(ground, watcher, kinds):
    """Payloads whose control leaves no mark, alone or beside the others of their kind, and those that have none here."""
    duds, unshown, shared = [], [], {}
    for each in beside_payload.ALL.values():
        if each.kind not in kinds:
            continue
        if each.control is None:
            unshown.append(each.name)
        elif alters(each):
            alone, beside = (
                partial(ground.make, [each.kind], label="control", only=only)
                for only in (each, None)
            )
            if not any(is_alive(ground, watcher, each, make()) for make in (alone, beside)):
                duds.append(each.name)
        else:
            if each.kind not in shared:
                shared[each.kind] = ground.make([each.kind], label="control")
            if not is_alive(ground, watcher, each, shared[each.kind]):
                duds.append(each.name)
    return duds, unshown


def is_alive(ground, watcher, each, repo):
    """Whether its control leaves its mark."""
    env = ground.variables([each.kind], repo)
    run_plainly(ground.command(["/bin/sh", "-c", each.control]), repo, env, longest=30)
    return any(mark["name"] == each.name for mark in watcher.take("control"))


def alters(each):
    return "git" in each.control and "--version" not in each.control


def print_result(result, seconds):
    codes = dict(Counter(result["codes"].values()))
    alive = len({mark["name"] for mark in result["inside"]})
    head = f"uid {result['uid']}, {result['walls']}, {', '.join(result['kinds'])}: {len(result['outside'])} marks outside"
    print(
        f"{head}, {len(result['inside'])} inside of {alive} payloads, {'-' if result['duds'] is None else len(result['duds'])} duds, {seconds:.0f} s; exit codes {codes}",
        file=sys.stderr,
        flush=True,
    )
    for line in holes(result["outside"]):
        print(f"    OUTSIDE {line}", file=sys.stderr)
    for name in result["duds"] or ():
        print(f"    DUD {name}", file=sys.stderr)
    sys.stderr.flush()


def holes(marks):
    """A line for each payload and the process that started it, with the commands in which that was."""
    commands = defaultdict(dict)
    for mark in marks:
        commands[mark["name"], starter(mark)][mark["command"]] = True
    return [f"{name} < {who}; by: {', '.join(where)}" for (name, who), where in commands.items()]


def starter(mark):
    """The first two processes above the mark that are not the mark's own."""
    others = [line for line in mark["parents"] if "-ISc" not in line]
    return " < ".join(line[:110].strip() for line in others[:2])


def table_of_kinds(results):
    heads = (
        "kind of payloads",
        "uid",
        "walls",
        "payloads",
        "duds",
        "not shown",
        "marks inside",
        "marks outside",
        "by",
    )
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for result in results:
        for kind in result["kinds"]:
            names = {each.name for each in beside_payload.ALL.values() if each.kind == kind}
            counts = [_count(names, result[what]) for what in ("duds", "unshown")]
            inside, outside = (
                [mark for mark in result[what] if mark["name"] in names]
                for what in ("inside", "outside")
            )
            by = ", ".join(dict.fromkeys(mark["command"].split()[0] for mark in outside))
            lines.append(
                _row(
                    (
                        kind,
                        result["uid"],
                        result["walls"],
                        len(names),
                        *counts,
                        len(inside),
                        len(outside),
                        by,
                    )
                )
            )
    return "\n".join(lines)


def table_of_commands(results):
    """A row for each command, over all users and walls."""
    heads = ("command", "uses", "exit codes", "marks inside", "marks outside", "kinds outside")
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for command in dict.fromkeys(
        label.split()[0] for result in results for label in result["codes"]
    ):
        codes = Counter(
            code
            for result in results
            for label, code in result["codes"].items()
            if label.split()[0] == command
        )
        inside, outside = (
            [
                mark
                for result in results
                for mark in result[what]
                if mark["command"].split()[0] == command
            ]
            for what in ("inside", "outside")
        )
        kinds = ", ".join(
            dict.fromkeys(
                beside_payload.ALL[mark["name"]].kind
                for mark in outside
                if mark["name"] in beside_payload.ALL
            )
        )
        told = " ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
        lines.append(_row((command, codes.total(), told, len(inside), len(outside), kinds)))
    return "\n".join(lines)


def _count(names, found):
    """How many of them were found; a dash where nothing was looked for."""
    return "-" if found is None else sum(each in names for each in found)


def _row(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    sys.exit(main())
