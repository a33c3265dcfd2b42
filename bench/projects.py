"""Real projects with their own tests: what ruff alone fixes (and breaks), beside what punchlist fixes.

    python bench/projects.py --python VENV/bin/python PROJECT.tar.gz|FOLDER ...

Each project is copied into a fresh repository. `--python` is an interpreter that can run the projects' tests (pytest and what they
need). The same broad rule set is given to all three; findings are counted by a ruff run of the bench's own, tests by a JUnit file
of the bench's own, so that nothing rests on what punchlist says of itself.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ET
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

BROAD = "E,F,W,B,UP,SIM,C4,PIE,RET,PERF,FURB,RUF,PLC,PLE,PLW,PLR,TRY,N,I,ISC,FLY,LOG,RSE,T10,YTT,PYI,FA,S"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("projects", nargs="+", type=Path)
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument(
        "--select", default=BROAD, help="the rules; `default`: those that ruff itself enables"
    )
    arguments.add_argument("--time", type=float, default=0, help="seconds for each punchlist run")
    arguments.add_argument("--keep", type=Path, help="keep the repositories and ledgers here")
    arguments.add_argument("--json", type=Path, help="write the figures here, too")
    asked = arguments.parse_args()
    select = default_rules() if asked.select == "default" else asked.select
    print(
        "| project | tests | findings | `--fix` | `--unsafe-fixes` | punchlist | x `--fix` | check runs | CPU seconds | of one test run | left out by name |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for project in asked.projects:
        with kept_or_temporary(asked.keep, project) as folder:
            root = unpacked(project, Path(folder))
            row = measured(root, asked.python, select, Path(folder), asked.time)
        rows.append(row)
        print(told(row), flush=True)
    total = {
        key: sum(row[key] for row in rows)
        for key in ("passing", "findings", "safe", "unsafe", "ours")
    }
    print(
        f"| **all** | {total['passing']} | {total['findings']} | {total['safe']} | {total['unsafe']} | **{total['ours']}** | {total['ours'] / max(total['safe'], 1):.2f} | | | | |"
    )
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1))


def default_rules() -> str:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--show-settings"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    enabled = shown.partition("linter.rules.enabled = [")[2].partition("]")[0]
    return ",".join(re.findall(r"\((\w+)\)", enabled))


def processor_seconds() -> float:
    """Return what all children that have ended used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def kept_or_temporary(keep: Path | None, project: Path) -> AbstractContextManager[str]:
    if keep is None:
        return tempfile.TemporaryDirectory()
    keep.mkdir(parents=True, exist_ok=True)
    return nullcontext(tempfile.mkdtemp(prefix=project.name.split("-")[0] + "-", dir=keep))


def unpacked(project: Path, folder: Path) -> Path:
    root = folder / project.name.removesuffix(".tar.gz")
    if project.is_dir():
        shutil.copytree(project, root, ignore=shutil.ignore_patterns(".git"))
    else:
        with tarfile.open(project) as archive:
            archive.extractall(folder, filter="data")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(
        root,
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
        "commit",
        "-q",
        "-m",
        "as released",
    )
    return root


def measured(root: Path, python: str, select: str, folder: Path, limit: float) -> dict:
    copied = folder / "copied"
    shutil.copytree(root, copied, symlinks=True)
    # Some tests look at where they are: what a mere copy turns red says nothing about a fix.
    before, used = findings(root, select), processor_seconds()
    green = tests(root, python)
    used = processor_seconds() - used
    green &= tests(copied, python)
    if not green:
        raise SystemExit(f"{root.name}: no test passes, so nothing can be measured")
    row = {"project": root.name, "findings": before, "passing": len(green), "suite_cpu": used}
    for name, flags in (("safe", ["--fix"]), ("unsafe", ["--fix", "--unsafe-fixes"])):
        copy = folder / name
        shutil.copytree(root, copy, symlinks=True)
        ruff(copy, select, *flags)
        row[name] = before - findings(copy, select)
        row[f"{name}_breaks"] = sorted(green - tests(copy, python))
    return (
        row
        | ours(root, python, select, folder, limit)
        | {"ours_breaks": None}
        | judged(root, python, select, folder, before, green)
    )


def ours(root: Path, python: str, select: str, folder: Path, limit: float) -> dict:
    env = {
        **{
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("PUNCHLIST_", "GIT_"))
        },
        "PUNCHLIST_HOME": str(folder / "state"),
        "PUNCHLIST_CONFIG": str(settings(folder, python)),
    }
    command = [sys.executable, "-m", "punchlist", "run", "--all", "--yes", "--json"]
    command += ["--set", "analyzers.enabled=ruff", "--set", f"analyzers.select={select}"]
    command += ["--set", f"limits.time={limit:g}"]
    began, used = time.monotonic(), processor_seconds()
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    minutes, used = (time.monotonic() - began) / 60, processor_seconds() - used
    if done.returncode not in (0, 1, 3):
        raise SystemExit(
            f"{root.name}: punchlist exits {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    audit = subprocess.run(
        [*command[:3], "audit", "--json"],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    report = subprocess.run(
        [*command[:3], "report", "--format", "json"],
        cwd=root,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(report.stdout)
    whole = {"minutes": minutes, "cpu": used, "incomplete": done.returncode == 3}
    return {**whole, "accounted": audit.returncode == 0, **from_report(document)}


def settings(folder: Path, python: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(
        f'[[checks]]\nname = "pytest"\ncommand = ["{python}", "-m", "pytest", "-q"]\nkind = "pytest"\n'
    )
    return path


def from_report(document: dict) -> dict:
    culprits = sorted(
        {
            f"{item['findings'][0].get('rule', '?')}"
            for item in document["items"]
            for attempt in item.get("attempts", [])
            if attempt.get("fact") == "rejected"
            and attempt.get("why", "").startswith(("breaks", "turns"))
        }
    )
    return {"culprits": culprits, "checks": document["counts"]["check_runs"]}


def judged(
    root: Path, python: str, select: str, folder: Path, before: int, green: set[str]
) -> dict:
    branches = subprocess.run(
        ["git", "branch", "--list", "punchlist/*", "--format=%(refname:short)"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    copy = folder / "landed"
    branch = (branches.stdout.split() or ["main"])[-1]
    git(folder, "clone", "-q", "--branch", branch, str(root), str(copy))
    return {
        "ours": before - findings(copy, select),
        "ours_breaks": sorted(green - tests(copy, python)),
    }


def findings(root: Path, select: str) -> int:
    return len(json.loads(ruff(root, select, "--no-fix", "--exit-zero", "--output-format", "json")))


def ruff(root: Path, select: str, *flags: str) -> str:
    """As the project configures it (what it excludes, it excludes), with the rules of the bench."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", select, *flags, "."]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout


def tests(root: Path, python: str) -> set[str]:
    """The tests that pass."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            "-o",
            "junit_family=xunit2",
        ]
        env = {**os.environ, "PYTHONPATH": f"{root}:{root / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run(command, cwd=root, env=env, capture_output=True, check=False, timeout=1800)
        if not report.exists():
            return set()
        cases = ET.parse(report).getroot().iter("testcase")
        return {
            f"{case.get('classname')}::{case.get('name')}"
            for case in cases
            if all(c.tag not in ("failure", "error", "skipped") for c in case)
        }


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def told(row: dict) -> str:
    broken = lambda name: (  # noqa: E731  # a word of this table
        f"{row[name]}"
        + (f" (breaks {len(row[f'{name}_breaks'])} tests)" if row[f"{name}_breaks"] else "")
    )
    ratio = row["ours"] / max(row["safe"], 1)
    lost = "" if row["accounted"] else " **NOT ACCOUNTED FOR**"
    lost += " (incomplete)" if row["incomplete"] else ""
    return (
        f"| {row['project']} | {row['passing']} | {row['findings']} | {broken('safe')} | {broken('unsafe')} | **{broken('ours')}**{lost} | {ratio:.2f} "
        f"| {row['checks']} | {row['cpu']:.0f} | {row['suite_cpu']:.1f} | {', '.join(row['culprits']) or '-'} |"
    )


if __name__ == "__main__":
    main()
