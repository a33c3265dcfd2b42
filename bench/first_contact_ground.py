"""What the bench of first contact stands on: source distributions with a repository and an environment, how punchlist starts
ruff there, and their tests and gates.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import projects
from projects import unpacked

SPY = """
import json, runpy, sys

def note(event, values):
    if event == "subprocess.Popen" and not isinstance(values[1], (str, bytes)):
        with open(place, "a") as out:
            out.write(json.dumps([str(word) for word in values[1]]) + "\\n")

place, sys.argv = sys.argv[1], sys.argv[2:]
sys.addaudithook(note)
runpy.run_path(sys.argv[0], run_name="__main__")
"""
NOT_OURS = ("--verbose", "--no-fix", "--no-fix-only")
EXTRAS = ("test", "tests", "testing", "dev", "all")
LISTS = (
    "requirements*test*.txt",
    "test*requirements*.txt",
    "requirements*dev*.txt",
    "dev*requirements*.txt",
    "requirements/*test*.txt",
)
COMMON = ("pytest-cov", "pytest-xdist", "pytest-mock", "pytest-asyncio", "hypothesis")


class Unfit(Exception):
    """The project cannot be measured here."""


class Broken(Exception):
    """Punchlist ends without a result: that is a goal missed."""


def archive(name: str, folder: Path) -> Path:
    """Fetch a source distribution, and call it as the folder in it is called."""
    if name.endswith(".tar.gz"):
        found = [Path(name)]
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        # Only the project itself: what builds it need not be built as well.
        command += ["--no-binary", name.partition("==")[0], "--dest", str(folder / "fetched"), name]
        done = started(command, folder, timeout=600)
        found = list((folder / "fetched").glob("*.tar.gz"))
        if done.returncode or not found:
            raise Unfit(f"no source distribution: {(done.stderr.splitlines() or ['none'])[-1]}")
    with tarfile.open(found[0]) as packed:
        tops = {member.name.partition("/")[0] for member in packed if member.name != "."}
    if len(tops) != 1:
        raise Unfit(f"{found[0].name} holds more than one folder")
    return Path(shutil.copy(found[0], folder / f"{tops.pop()}.tar.gz"))


def repository(packed: Path, folder: Path) -> Path:
    root = unpacked(packed, folder)
    with (root / ".git" / "info" / "exclude").open("a") as out:
        out.write(".venv/\n")
    return root


def environment(root: Path, folder: Path) -> str:
    """Make `.venv` with pytest, the project and what its tests ask for, as far as can be had."""
    started([sys.executable, "-m", "venv", str(root / ".venv")], root)
    python = str(root / ".venv" / "bin" / "python")
    # Building may write into the folder, so it is done in a copy.
    source = copied(root, folder / "source")
    install = [python, "-m", "pip", "install", "-q"]
    started([*install, "pytest"], source, timeout=600)
    for extras in (EXTRAS, EXTRAS[:3], ()):
        wanted = f".[{','.join(extras)}]" if extras else "."
        if started([*install, wanted], source, timeout=900).returncode == 0:
            break
    for path in sorted({path for pattern in LISTS for path in source.glob(pattern)}):
        started([*install, "-r", path.relative_to(source)], source, timeout=900)
    if (source / "pyproject.toml").exists():
        groups = tomllib.loads((source / "pyproject.toml").read_text()).get("dependency-groups", {})
        named = [
            each for extra in EXTRAS for each in groups.get(extra, ()) if isinstance(each, str)
        ]
        if named:
            started([*install, *named], source, timeout=900)
    return python


@dataclass(frozen=True)
class Rules:
    """How punchlist starts ruff: the program, and options with the files they are for."""

    program: str
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    @classmethod
    def seen(cls, root: Path, folder: Path, punchlist: Path) -> "Rules":
        """Watch the programs that a review starts."""
        place = folder / "started.jsonl"
        command = [str(punchlist.with_name("python")), "-c", SPY, str(place), str(punchlist)]
        done = started([*command, "review", "--all", "--json"], root, default(folder / "seen"))
        calls = (
            [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []
        )
        program, groups = "", {}
        for words in calls:
            starts = [n for n, word in enumerate(words) if Path(word).name == "ruff"]
            if not starts or "--" not in words[starts[-1] :] or "--ignore-noqa" in words:
                continue
            program, _check, *options = words[starts[-1] :]
            cut = options.index("--")
            kept = tuple(word for word in options[:cut] if word not in NOT_OURS)
            groups[kept, tuple(options[cut + 1 :])] = None
        if not groups:
            kind = Unfit if done.returncode in (0, 1) else Broken
            raise kind(f"no ruff in a review, which exits {done.returncode}: {done.stderr[-300:]}")
        return cls(program, tuple(groups))

    def findings(self, root: Path) -> list[tuple[str, str, str]]:
        """Return rule, file and applicability of the fix of each finding."""
        found = []
        for options, files in self.groups:
            said = output(
                [self.program, "check", *options, "--no-fix", "--", *there(root, files)], root
            )
            found += [
                (
                    each["code"] or "invalid-syntax",
                    str(Path(each["filename"]).relative_to(root.resolve())),
                    (each["fix"] or {}).get("applicability", ""),
                )
                for each in json.loads(said)
            ]
        return found

    def fix(self, root: Path, flags: tuple[str, ...], left_out: set[tuple[str, str]]) -> None:
        """Let ruff fix everything but the units that are left out."""
        for options, files in self.groups:
            apart: dict[tuple[str, ...], list[str]] = {}
            for file in there(root, files):
                rules = tuple(sorted(rule for rule, path in left_out if path == file))
                apart.setdefault(rules, []).append(file)
            for rules, some in apart.items():
                without = (f"--unfixable={','.join(rules)}",) if rules else ()
                output(
                    [self.program, "check", *options, *without, "--fix", *flags, "--", *some], root
                )


def there(root: Path, files: tuple[str, ...]) -> list[str]:
    return [file for file in files if (root / file).exists()]


def own_gates(events: list[dict], root: Path) -> list[list[str]]:
    """Return the commands of the project's gates; examples in docstrings with the files that have some."""
    gates = []
    for check in next(event for event in events if event["kind"] == "started")["checks"]:
        if check.get("kind") == "gate":
            gates.append(check["command"])
        elif check.get("kind") == "doctest":
            files = output(["git", "grep", "-l", ">>> ", "--", "*.py", ":!*test*"], root).split()
            if files:
                gates.append([*check["command"], "-q", "--tb=no", "-rfE", *files])
    return gates


def redness(gate: list[str] | tuple[str, ...], root: Path, python: str) -> int:
    """Return how many lines a gate complains with, 0 if it is green."""
    path = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", os.defpath)])
    env = {"PATH": path, "PYTHONPATH": f"{root}:{root / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = started(gate, root, {**os.environ, **env}, timeout=1800)
    return max(1, len(done.stdout.split("\n"))) if done.returncode else 0


def tests(root: Path, python: str) -> set[str]:
    """Return the tests that pass, also beside files that cannot be imported; none if they do not
    come to an end.
    """
    before = os.environ.get("PYTEST_ADDOPTS")
    os.environ["PYTEST_ADDOPTS"] = f"{before or ''} --continue-on-collection-errors"
    try:
        return projects.tests(root, python)
    except subprocess.TimeoutExpired:
        return set()
    finally:
        os.environ.pop("PYTEST_ADDOPTS")
        os.environ.update({} if before is None else {"PYTEST_ADDOPTS": before})


def tests_within(root: Path, python: str, longest: float) -> set[str]:
    """Return the tests that pass; where none does, with what tests often ask for and do not name."""
    began, passing = time.monotonic(), tests(root, python)
    if not passing:
        started([python, "-m", "pip", "install", "-q", *COMMON], root, timeout=600)
        began, passing = time.monotonic(), tests(root, python)
    if (took := time.monotonic() - began) > longest:
        raise Unfit(f"its tests take {took:.0f} s")
    return passing


def copied(root: Path, place: Path) -> Path:
    ignore = shutil.ignore_patterns(".venv")
    return Path(shutil.copytree(root, place, symlinks=True, ignore=ignore))


def default(state: Path) -> dict[str, str]:
    """Return an environment in which punchlist has no settings and no earlier runs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PUNCHLIST_", "GIT_"))}
    state.mkdir(parents=True, exist_ok=True)
    (state / "none.toml").touch()
    return {**kept, "PUNCHLIST_HOME": str(state), "PUNCHLIST_CONFIG": str(state / "none.toml")}


def started(command, folder: Path, env: dict | None = None, timeout: float | None = None):
    words = [str(word) for word in command]
    try:
        return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, errors="replace", check=False, timeout=timeout)  # fmt: skip
    except (subprocess.TimeoutExpired, OSError) as why:
        return subprocess.CompletedProcess(words, 127, "", str(why))


def output(command: list[str], folder: Path, env: dict | None = None) -> str:
    return started(command, folder, env).stdout
