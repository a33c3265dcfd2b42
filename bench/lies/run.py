"""Lying fixers: how many false claims of "fixed" get through, beside trusting the claim and trusting green tests.

    python bench/lies/run.py [--sample] [-j 2] [--behaviour NAME ...] [--cache FOLDER]

Every behaviour meets every bug, with visible tests that see the bug and with tests that do not, without and with a private
reproducer: one run of punchlist each. Results are kept as lines of JSON in the cache folder, and a run that was interrupted goes on
where it was; a change of punchlist or of the bench begins anew.
"""

import argparse
import json
import platform
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from threading import Lock

sys.path.insert(0, str(Path(__file__).parent))

from behaviours import BEHAVIOURS, Behaviour, plays
from corpus import bugs as all_bugs
from policies import claimed, green, truths
from product import ROOT, Case, measured
from tables import tables

SAMPLE = 8
MIXED = Behaviour("several", "lies", lambda *_: None)


class Results:
    """Lines of JSON, one for each case; safe to write from several threads."""

    def __init__(self, path):
        self._path = path
        self._lock = Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.known = {tuple(entry["case"]): entry for entry in map(json.loads, lines)}

    def keep(self, case, result):
        entry = {"case": case, **result}
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            self.known[tuple(case)] = entry


def main():
    asked = _arguments()
    bugs = all_bugs()
    bugs = bugs[:: max(1, len(bugs) // SAMPLE)][:SAMPLE] if asked.sample else bugs
    behaviours = [
        each for each in BEHAVIOURS if not asked.behaviour or each.name in asked.behaviour
    ]
    folder = Path(asked.cache).expanduser() / f"{asked.tag or _version(asked.source)}-{len(bugs)}"
    policies, product = (
        Results(Path(asked.cache).expanduser() / f"policies-{_bench()}-{len(bugs)}.jsonl"),
        Results(folder / "product.jsonl"),
    )
    print(
        f"{len(behaviours)} behaviours x {len(bugs)} bugs; results in {folder}",
        file=sys.stderr,
        flush=True,
    )
    with ThreadPoolExecutor(asked.jobs) as pool:
        if not asked.tables:
            list(pool.map(lambda case: _policy(case, bugs, policies), _policy_cases(behaviours)))
            if not asked.policies and asked.mode != "with":
                _without(asked, behaviours, bugs, product, pool)
            if not asked.policies and asked.mode != "without":
                _with(asked, behaviours, bugs, product, pool)
    print(tables(behaviours, bugs, policies.known, product.known))
    print(_versions(asked.source))


def _arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help=f"{SAMPLE} of the bugs only")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument(
        "--behaviour", action="append", help="only this one; may be given several times"
    )
    parser.add_argument(
        "--mode", choices=["both", "without", "with"], default="both", help="the private reproducer"
    )
    parser.add_argument("--cache", default="~/.cache/punchlist-bench/lies")
    parser.add_argument(
        "--tag", default="", help="a name for the cached results instead of the hash of the sources"
    )
    parser.add_argument(
        "--policies", action="store_true", help="only the simple policies, without punchlist"
    )
    parser.add_argument(
        "--tables", action="store_true", help="print what is in the cache, measure nothing"
    )
    parser.add_argument(
        "--source", type=Path, default=ROOT / "src", help="the punchlist to measure"
    )
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs")
    return parser.parse_args()


def _policy_cases(behaviours):
    return [(behaviour, covered) for behaviour in behaviours for covered in (True, False)]


def _policy(case, bugs, results):
    behaviour, covered = case
    if (behaviour.name, covered) in results.known:
        return
    played = plays(behaviour, bugs, covered=covered)
    said = [bug for bug in bugs if claimed(behaviour, played[bug.name])]
    true, passing = truths(played, bugs), green(behaviour, played, said, covered=covered)
    found = {
        bug.name: {
            "claimed": bug in said,
            "tests": passing.get(bug.name, False),
            "right": true[bug.name],
        }
        for bug in bugs
    }
    results.keep((behaviour.name, covered), {"bugs": found})


def _without(asked, behaviours, bugs, results, pool):
    """Every behaviour on every bug."""
    cases = [(behaviour, covered) for covered in (True, False) for behaviour in behaviours]

    def one(case):
        behaviour, covered = case
        if (behaviour.name, covered, False) not in results.known:
            result = _ran(asked, Case.of(behaviour, bugs, covered=covered, reproduced=False), bugs)
            _kept(results, (behaviour.name, covered, False), result)

    list(pool.map(one, cases))


def _with(asked, behaviours, bugs, results, pool):
    """A reproducer can only refuse more, so what got through without one is tried again; the rest is known to be refused."""
    for covered in (True, False):
        left = {
            each.name: _got_through(results, each, covered)
            for each in behaviours
            if (each.name, covered, True) not in results.known
        }
        whole = [
            each
            for each in behaviours
            if each.name in left and (each.kind == "honest" or each.alone) and left[each.name]
        ]
        mixed = [
            each
            for each in behaviours
            if each.name in left and each not in whole and left[each.name] is not None
        ]
        cases = [Case.of(each, bugs, covered=covered, reproduced=True) for each in whole]
        for case, result in zip(
            cases, pool.map(lambda case: _ran(asked, case, bugs), cases), strict=True
        ):
            _kept(results, (case.behaviour.name, covered, True), result)
        runs = list(
            _rounds(mixed, {name: set(names or ()) for name, names in left.items()}, bugs, covered)
        )
        followed = list(pool.map(lambda case: _ran(asked, case[1], bugs), runs))
        if all(followed):
            for each in mixed:
                _kept(
                    results,
                    (each.name, covered, True),
                    _put_together(each, covered, results, runs, followed),
                )


def _got_through(results, behaviour, covered):
    """The bugs it was counted as having fixed without a reproducer; None if that was not measured."""
    seen = results.known.get((behaviour.name, covered, False))
    return None if seen is None else [bug for bug, said in seen["bugs"].items() if said["fixed"]]


def _rounds(behaviours, left, bugs, covered):
    """Runs in each of which every bug is met by another one of those who are left for it."""
    while any(left[each.name] for each in behaviours):
        who = {}
        for bug in bugs:
            each = next((each for each in behaviours if bug.name in left[each.name]), None)
            if each is not None:
                who[bug.name] = each
                left[each.name].discard(bug.name)
        played = {name: plays(each, bugs, covered=covered)[name] for name, each in who.items()}
        yield (
            {name: each.name for name, each in who.items()},
            Case(MIXED, covered, reproduced=True, played=played),
        )


def _put_together(behaviour, covered, results, runs, followed):
    before = results.known[(behaviour.name, covered, False)]
    found = {
        bug: {**said, "fixed": False, "why": ["refused without a reproducer"]}
        for bug, said in before["bugs"].items()
    }
    for (who, _), result in zip(runs, followed, strict=True):
        found |= {bug: said for bug, said in result["bugs"].items() if who[bug] == behaviour.name}
    return {
        "seconds": 0,
        "check_runs": 0,
        "accounted": all(result["accounted"] for result in followed),
        "bugs": found,
    }


def _ran(asked, case, bugs):
    with _Folder(keep=asked.keep) as folder:
        try:
            return measured(case, bugs, Path(folder), asked.source)
        except (RuntimeError, ValueError, KeyError) as error:
            print(f"{case.behaviour.name}: {error}", file=sys.stderr, flush=True)
            return None


def _kept(results, name, result):
    if result is None:
        return
    results.keep(name, result)
    through = [bug for bug, seen in result["bugs"].items() if seen["fixed"] and not seen["right"]]
    fixed = sum(seen["fixed"] for seen in result["bugs"].values())
    print(
        f"{result['seconds']:6.0f} s  {name}: {fixed} fixed, {len(through)} of them falsely",
        file=sys.stderr,
        flush=True,
    )


class _Folder(tempfile.TemporaryDirectory):
    def __init__(self, *, keep):
        super().__init__(prefix="lies-", ignore_cleanup_errors=True)
        if keep:
            self._finalizer.detach()
        self._keep = keep

    def __exit__(self, *about):
        if not self._keep:
            super().__exit__(*about)


def _version(source):
    return _hashed([*sorted(source.rglob("*.py")), *sorted(Path(__file__).parent.rglob("*.*"))])


def _bench():
    """What the patches and their tests depend on."""
    here = Path(__file__).parent
    return _hashed(
        [
            *sorted(here.glob("bugs/*.txt")),
            *(here / name for name in ("behaviours.py", "policies.py", "repository.py")),
        ]
    )


def _hashed(paths):
    texts = (path.read_bytes() for path in paths if path.suffix in (".py", ".txt", ".md"))
    return sha256(b"".join(texts)).hexdigest()[:12]


def _versions(source):
    from punchlist._version import __version__

    tools = ", ".join(f"{name} {version(name)}" for name in ("pytest",))
    return f"\npunchlist {__version__} ({_version(source)}), Python {platform.python_version()}, {tools}, {platform.platform()}"


if __name__ == "__main__":
    main()
