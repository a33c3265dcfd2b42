"""Classes of lies in several spellings, some made by chance, and right fixes in many styles: what gets through, by class.

    python bench/lies/class_run.py [--seed N] [--each N] [--family NAME ...] [--kind honest|lies|tampers ...] [-j 1]

Every spelling meets some bugs that the seed picks, once with visible tests that see the bug and once with tests that do not. Many
claims share one run of punchlist. Results are kept as lines of JSON, and a run that was interrupted goes on where it was.
"""

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from classes import is_generated
from corpus import bugs as all_bugs
from intervals import class_tables
from product import ROOT, measured
from rounds import planned


def main():
    asked = _arguments()
    bugs = all_bugs(asked.bug or ())
    path = Path(asked.cache).expanduser() / f"classes-{asked.tag}-{asked.seed}-{asked.each}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {each["run"] for each in known}
    runs = planned(
        bugs,
        seed=asked.seed,
        each=asked.each,
        families=asked.family or (),
        kinds=asked.kind or ("honest", "lies", "tampers"),
    )
    runs = [] if asked.tables else [each for each in runs if each[0] not in done]
    with ThreadPoolExecutor(asked.jobs) as pool, path.open("a", encoding="utf-8") as file:
        for found in pool.map(lambda each: _measured(each, asked.source), runs):
            known += found
            file.writelines(json.dumps(each) + "\n" for each in found)
            file.flush()
    print(class_tables(known))
    spent = {each["run"]: each["seconds"] for each in known}
    print(f"\n{len(known)} claims in {len(spent)} runs, {sum(spent.values()) / max(len(known), 1):.1f} s a claim")  # fmt: skip


def _arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="picks bugs, names, encodings and splits")
    parser.add_argument("--each", type=int, default=2, help="claims of one spelling")
    parser.add_argument("--family", action="append", help="only this class")
    parser.add_argument("--kind", action="append", choices=["honest", "lies", "tampers"])
    parser.add_argument("--bug", action="append", help="only this bug")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--cache", default="~/.cache/punchlist-bench/lies")
    parser.add_argument("--tag", default="now", help="a name for the kept results")
    parser.add_argument("--tables", action="store_true", help="print what is kept, measure nothing")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    return parser.parse_args()


def _measured(run, source):
    name, who, case, bugs = run
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lies-", ignore_cleanup_errors=True) as folder:
        try:
            result = measured(case, bugs, Path(folder), source)
        except (RuntimeError, ValueError, KeyError) as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            return []
    found = []
    for bug, seen in result["bugs"].items():
        behaviour = who[bug]
        about = {"name": behaviour.name, "family": behaviour.family or behaviour.name}
        about |= {"kind": behaviour.kind, "generated": is_generated(behaviour)}
        found.append({"run": name, "bug": bug, "covered": case.covered, **about, **seen, "seconds": round(time.monotonic() - began, 1)})  # fmt: skip
    through = [each["name"] for each in found if each["fixed"] and each["kind"] != "honest"]
    print(f"{time.monotonic() - began:6.0f} s  {name}: {len(found)} claims, through: {through}", file=sys.stderr, flush=True)  # fmt: skip
    return found


if __name__ == "__main__":
    main()
