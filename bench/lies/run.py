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

from behaviours import BEHAVIOURS, plays
from corpus import bugs as all_bugs
from policies import claimed, green, truths
from product import ROOT, measured
from tables import tables

SAMPLE = 8


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
    behaviours = [each for each in BEHAVIOURS if not asked.behaviour or each.name in asked.behaviour]
    folder = Path(asked.cache).expanduser() / f"{asked.tag or _version()}-{len(bugs)}"
    policies, product = (
        Results(Path(asked.cache).expanduser() / f"policies-{_bench()}-{len(bugs)}.jsonl"),
        Results(folder / "product.jsonl"),
    )
    print(f"{len(behaviours)} behaviours x {len(bugs)} bugs; results in {folder}", file=sys.stderr, flush=True)
    with ThreadPoolExecutor(asked.jobs) as pool:
        if not asked.tables:
            list(pool.map(lambda case: _policy(case, bugs, policies), _policy_cases(behaviours)))
            if not asked.policies:
                list(pool.map(lambda case: _product(case, bugs, product, asked.keep), _product_cases(behaviours, asked.mode)))
    print(tables(behaviours, bugs, policies.known, product.known))
    print(_versions())


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true", help=f"{SAMPLE} of the bugs only")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--behaviour", action="append", help="only this one; may be given several times")
    parser.add_argument("--mode", choices=["both", "without", "with"], default="both", help="the private reproducer")
    parser.add_argument("--cache", default="~/.cache/punchlist-bench/lies")
    parser.add_argument("--tag", default="", help="a name for the cached results instead of the hash of the sources")
    parser.add_argument("--policies", action="store_true", help="only the simple policies, without punchlist")
    parser.add_argument("--tables", action="store_true", help="print what is in the cache, measure nothing")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs")
    return parser.parse_args()


def _policy_cases(behaviours):
    return [(behaviour, covered) for behaviour in behaviours for covered in (True, False)]


def _product_cases(behaviours, mode):
    wanted = {"both": (False, True), "without": (False,), "with": (True,)}[mode]
    return [(behaviour, covered, with_) for with_ in wanted for covered in (True, False) for behaviour in behaviours]


def _policy(case, bugs, results):
    behaviour, covered = case
    if (behaviour.name, covered) in results.known:
        return
    played = plays(behaviour, bugs, covered=covered)
    said = [bug for bug in bugs if claimed(behaviour, played[bug.name])]
    true, passing = truths(played, bugs), green(behaviour, played, said, covered=covered)
    found = {bug.name: {"claimed": bug in said, "tests": passing.get(bug.name, False), "right": true[bug.name]} for bug in bugs}
    results.keep((behaviour.name, covered), {"bugs": found})


def _product(case, bugs, results, keep):
    behaviour, covered, reproduced = case
    name = (behaviour.name, covered, reproduced)
    if name in results.known:
        return
    with tempfile.TemporaryDirectory(prefix="lies-", delete=not keep) if sys.version_info >= (3, 12) else _Folder(keep) as folder:
        try:
            result = measured(case, bugs, Path(folder))
        except (RuntimeError, ValueError, KeyError) as error:
            print(f"{name}: {error!r}", file=sys.stderr, flush=True)
            return
    results.keep(name, result)
    through = [bug for bug, seen in result["bugs"].items() if seen["fixed"] and not seen["right"]]
    fixed = sum(seen["fixed"] for seen in result["bugs"].values())
    print(f"{result['seconds']:6.0f} s  {name}: {fixed} fixed, {len(through)} of them falsely", file=sys.stderr, flush=True)


class _Folder(tempfile.TemporaryDirectory):
    def __init__(self, keep):
        super().__init__(prefix="lies-", ignore_cleanup_errors=True)
        if keep:
            self._finalizer.detach()
        self._keep = keep

    def __exit__(self, *about):
        if not self._keep:
            super().__exit__(*about)


def _version():
    return _hashed([*sorted((ROOT / "src").rglob("*.py")), *sorted(Path(__file__).parent.rglob("*.*"))])


def _bench():
    """What the patches and their tests depend on."""
    here = Path(__file__).parent
    return _hashed(
        [*sorted(here.glob("bugs/*.txt")), *(here / name for name in ("behaviours.py", "policies.py", "repository.py"))]
    )


def _hashed(paths):
    texts = (path.read_bytes() for path in paths if path.suffix in (".py", ".txt", ".md"))
    return sha256(b"".join(texts)).hexdigest()[:12]


def _versions():
    from punchlist import __version__

    tools = ", ".join(f"{name} {version(name)}" for name in ("pytest",))
    return f"\npunchlist {__version__} ({_version()}), Python {platform.python_version()}, {tools}, {platform.platform()}"


if __name__ == "__main__":
    main()
