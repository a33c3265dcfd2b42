"""How much processor time `punchlist review --staged` of one edit takes: at an earlier commit, in this tree, and beside it
`ruff check` of the same file.

    python bench/review.py --before COMMIT [--times 9] [--only ruff] [PROJECT.tar.gz...]

User and system time of the command and all its children; the three take turns, and the median counts. A tiny repository is
made for the bench, and one of each source distribution that is given. "first" is the first review with an empty state folder,
"next" the review of a further edit with the same one. Analyzers are those beside this interpreter and on PATH; `--only` names
the ones to use. The goal: at most half of what COMMIT takes.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
RUFF = Path(sys.executable).with_name("ruff")
START = "from punchlist.cli import main; main()"
TINY = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
EDIT = "\n\ndef edited_{number}(text):\n    import os\n    kept = {number}\n    return text\n"


def git(folder, *arguments):
    author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    done = subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)
    return done.stdout


def unpack(archive, folder):
    """Unpack a source distribution; return its only folder."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return next(folder.iterdir())


def make_repository(folder):
    """Commit what is in the folder; return its largest module, the file that is edited."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    modules = [file for file in folder.rglob("*.py") if "test" not in str(file.relative_to(folder))]
    return max(modules, key=lambda file: file.stat().st_size)


def spend(command, folder, environment):
    """Return the milliseconds of processor time of a command and its children."""
    child = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode in {0, 1}, (command, said.decode()[-2000:])  # 1: there are findings
    return (usage.ru_utime + usage.ru_stime) * 1000


class Bench:
    def __init__(self, work, before, only):
        self.work = work
        old = work / "before"
        old.mkdir()
        packed = work / "before.tar"
        packed.write_bytes(git(HERE, "archive", before, "src"))
        with tarfile.open(packed) as archive:
            archive.extractall(old, filter="data")
        self.sources = {f"{before[:8]}": old / "src", "this tree": HERE / "src"}
        self.options = ["--set", f"analyzers.enabled={','.join(only)}"] if only else []
        self.path = os.pathsep.join([str(RUFF.parent), os.environ.get("PATH", os.defpath)])

    def environment(self, source, home):
        kept = {"HOME": os.environ["HOME"], "PATH": self.path, "LANG": "C.UTF-8"}
        return {**kept, "PYTHONPATH": str(source), "PUNCHLIST_HOME": str(home)}

    def review(self, source, home, folder):
        command = [sys.executable, "-c", START, "review", "--staged", *self.options]
        return spend(command, folder, self.environment(source, home))

    def measure(self, folder, times):
        """Return the times of ruff and of each source: of the first review, and of the next."""
        file = make_repository(folder)
        text = file.read_text()
        taken = {name: {"first": [], "next": []} for name in ("ruff check", *self.sources)}
        for turn in range(-1, times):  # the first turn compiles, and does not count
            # Folders of their own for each turn, removed at the end: ext4 takes long to make files
            # within seconds after many were deleted, and that would count for the first review.
            turns = f"{folder.name}-{turn + 1}"
            homes = {n: self.work / f"home-{turns}-{n}".replace(" ", "-") for n in self.sources}
            for number, kind in enumerate(("first", "next"), 2 * turn):
                file.write_text(text + EDIT.format(number=abs(number)))
                git(folder, "add", "--all")
                check = [RUFF, "check", "--no-cache", "--quiet", file]
                spent = {"ruff check": spend(check, folder, {"PATH": self.path})}
                spent |= {n: self.review(s, homes[n], folder) for n, s in self.sources.items()}
                if turn >= 0:
                    for name, each in spent.items():
                        taken[name][kind].append(each)
        return taken


def show(name, taken):
    ruff, before, after = taken
    for kind in ("first", "next"):
        middle = [statistics.median(taken[each][kind]) for each in (ruff, before, after)]
        figures = "".join(f"{each:>12.0f}" for each in middle)
        print(f"{name + ', ' + kind:<28}{figures}{middle[2] / middle[1]:>8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", required=True, metavar="COMMIT")
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--only", action="append", default=[], metavar="ANALYZER")
    parser.add_argument("projects", nargs="*", type=Path, metavar="PROJECT.tar.gz")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        bench = Bench(work, chosen.before, chosen.only)
        print(
            f"{'CPU ms':<28}"
            + "".join(f"{each:>12}" for each in ("ruff check", *bench.sources))
            + f"{'ratio':>8}"
        )
        tiny = work / "tiny"
        for path, text in TINY.items():
            (tiny / path).parent.mkdir(parents=True, exist_ok=True)
            (tiny / path).write_text(text)
        show("tiny", bench.measure(tiny, chosen.times))
        for archive in chosen.projects:
            folder = unpack(archive, work / archive.name)
            show(folder.name, bench.measure(folder, chosen.times))


if __name__ == "__main__":
    main()
