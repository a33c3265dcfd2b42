"""Types the commands that the documentation shows, and compares what they print with what the pages show.

    python tools/follow_docs.py            # name each difference
    python tools/follow_docs.py --write    # write what was printed into the pages, and draw the picture anew

In a `console` block a line that begins with `$ ` is typed, and what follows it is what it prints: line by line, but for blank lines;
`...` stands for any number of lines. A block below "`PATH`:" is saved there. What differs in each run (names of runs and commits,
seconds, folders of state) is not compared.
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import terminal_picture
from wheels import pack_coverage

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SAVED = re.compile(r"`([\w./-]+)`:\n\n\Z")
GAP = "..."
VARIES = (
    (re.compile(r"\b\d{6}-[0-9a-f]{6}\b|\bRUN\b"), "RUN"),
    (re.compile(r" · (\d+ min )?[\d.]+ m?s · "), " · N s · "),
    (re.compile(r"^\[ *\d+s\]"), "[N s]"),
    (re.compile(r" in \d[\d.]*s$"), " in N s"),
    (re.compile(r"^[0-9a-f]{7} |(?<= at )[0-9a-f]{10}$"), "COMMIT "),
    (re.compile(r"\S*/repos/[0-9a-f]+/(environments/\S+?-py[\d.]+(-[0-9a-f]+)?)?"), "STATE/"),
    (re.compile(r"(?<!STATE)/\S*/bin/python[\d.]*"), "PYTHON"),
    (re.compile(r"^Python +[\d.]+,"), "Python VERSION,"),
    (re.compile(r"\b\d+ entries\b"), "N entries"),
    (re.compile(r"^  Check runs +\d+"), "  Check runs N"),  # fewer where a baseline is remembered
    (re.compile(r"; Python: [^)]+\)"), "; Python: WHERE)"),
)
OWN = (
    (re.compile(r"/\S*punchlist-docs-\w+/home\b"), "~"),
    (re.compile(r"/\S*punchlist-docs-\w+/here\b"), "/home/ada"),
    (re.compile(r"(?<![~\w/])/\S*/bin/python[\d.]*"), "/usr/bin/python3"),
)
"""Paths of this machine, and what is written into the pages instead."""
BASH = shutil.which("bash") or "/bin/sh"
EXITS = (0, 1, 3, 6, 8)
"""What commands of the docs may exit with: punchlist says so that something is left, or wrong."""
ALIKE = 0.5
"""How much a printed line must resemble a shown one to be written in its place."""


class Step(NamedTuple):
    """A command of a page, and the lines that it is said to print."""

    command: str
    shown: tuple[str, ...]
    span: tuple[int, int] = (0, 0)
    """Where these lines stand in the page."""


class File(NamedTuple):
    """A file that a page has its reader write."""

    path: str
    text: str


class Difference(NamedTuple):
    """A command that prints something else than its page shows."""

    page: Path
    step: Step
    printed: str

    def __str__(self) -> str:
        shown = "\n".join(self.step.shown)
        return f"{self.page.name}: $ {self.step.command}\nshown:\n{shown}\nprinted:\n{self.printed}"


def parse_page(text: str) -> Iterator[Step | File]:
    """Yield what a page asks its reader to do, in order."""
    for fence in FENCE.finditer(text):
        kind, block = fence.groups()
        if kind == "console":
            yield from parse_console(block, fence.start(2))
        elif saved := SAVED.search(text[: fence.start()]):
            yield File(saved[1], block)


def parse_console(block: str, offset: int) -> Iterator[Step]:
    for part in TYPED.finditer(block):
        shown = tuple(line for line in part[2].splitlines() if line.strip())
        yield Step(part[1], shown, (offset + part.start(2), offset + part.end(2)))


def normalize(line: str) -> str:
    """Return a line without what differs in each run, and with single blanks."""
    for pattern, word in VARIES:
        line = pattern.sub(word, line)
    return " ".join(line.split())


def split_at_gaps(shown: Iterable[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == GAP:
            parts.append([])
        else:
            parts[-1].append(normalize(line))
    return parts


def is_printed(shown: Iterable[str], printed: str) -> bool:
    """Tell whether the shown lines are the printed ones, with any number of others at each gap."""
    lines = [normalize(line) for line in printed.splitlines() if line.strip()]
    first, *others = split_at_gaps(shown)
    if not others:
        return lines == first
    *between, last = others
    if lines[: len(first)] != first:
        return False
    at = len(first)
    for part in between:
        starts = range(at, len(lines) - len(part) + 1)
        found = next((start for start in starts if lines[start : start + len(part)] == part), None)
        if found is None:
            return False
        at = found + len(part)
    return len(lines) - len(last) >= at and lines[len(lines) - len(last) :] == last


def choose_lines(shown: Iterable[str], printed: str) -> list[str]:
    """Return the printed lines that come closest to the shown ones, with gaps between them."""
    wanted = [line for line in shown if line.strip() != GAP]
    lines = [hide_machine(line.rstrip()) for line in printed.splitlines() if line.strip()]
    chosen, after = [], -1
    for number, place in enumerate(match_lines(wanted, lines)):
        if place is None:
            continue
        if place > after + 1:
            chosen.append(GAP)
        same = normalize(wanted[number]) == normalize(lines[place])
        chosen.append(wanted[number] if same else lines[place])
        after = place
    return [*chosen, GAP] if after + 1 < len(lines) else chosen


def hide_machine(line: str) -> str:
    for pattern, word in OWN:
        line = pattern.sub(word, line)
    return line


def match_lines(wanted: list[str], lines: list[str]) -> list[int | None]:
    """Return for each wanted line the number of the line it is most like, in rising order."""
    likeness = [[compare_lines(a, b) for b in lines] for a in wanted]
    best = [[0.0] * (len(lines) + 1) for _ in range(len(wanted) + 1)]
    for i in reversed(range(len(wanted))):
        for j in reversed(range(len(lines))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], likeness[i][j] + best[i + 1][j + 1])
    places: list[int | None] = []
    j = 0
    for i in range(len(wanted)):
        while j < len(lines) and best[i][j] == best[i][j + 1] and best[i][j] > best[i + 1][j]:
            j += 1
        taken = j < len(lines) and best[i][j] > best[i + 1][j]
        places.append(j if taken else None)
        j += taken
    return places


def compare_lines(a: str, b: str) -> float:
    a, b = normalize(a), normalize(b)
    if a == b:
        return 2.0  # rather one line as it was than two that are changed
    alike = difflib.SequenceMatcher(None, a, b)
    enough = alike.quick_ratio() >= ALIKE and alike.ratio() >= ALIKE
    return alike.ratio() if enough else 0.0


class Terminal:
    """A reader at a terminal, in a folder, with a home of their own and punchlist on PATH."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.here = folder
        self.env = env
        self.printed: dict[str, str] = {}
        """What each command printed."""

    def type(self, command: str) -> str:
        """Type a command; return what the terminal shows."""
        if command.startswith("cd "):
            self.here /= command.removeprefix("cd ")
            return ""
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.env[name] = value
            return ""
        ran = subprocess.run(  # what the page says is what is to be tried
            [BASH, "-c", command],
            cwd=self.here,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
            timeout=600,
        )
        if ran.returncode not in EXITS:
            raise SystemExit(f"$ {command}\nexits with {ran.returncode}:\n{ran.stdout}")
        self.printed[command] = ran.stdout
        return ran.stdout

    def follow(self, page: Path) -> list[Difference]:
        """Do what a page says; return where it shows something else."""
        found = []
        for step in parse_page(page.read_text("utf-8")):
            if isinstance(step, File):
                target = self.here / step.path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(step.text, "utf-8")
                continue
            printed = self.type(step.command)
            if not is_printed(step.shown, printed):
                found.append(Difference(page, step, printed))
        return found


def open_terminal(folder: Path, command: list[str]) -> Terminal:
    """Make a home and a folder to stand in; `command` starts punchlist."""
    programs, home, here = folder / "programs", folder / "home", folder / "here"
    wheels = folder / "wheels"
    for each in (programs, home, here, wheels):
        each.mkdir(parents=True)
    pack_coverage(wheels)
    for name, line in (("punchlist", command), ("ruff", [sys.executable, "-m", "ruff"])):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n')
        (programs / name).chmod(0o755)
    settings = home / ".config/punchlist/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[analyzers]\nenabled = ["ruff"]\n')  # what comes along, and no more
    own = ("GIT_", "XDG_", "PUNCHLIST_", "CONDA_", "VIRTUAL_ENV", "UV_PROJECT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    people = {f"GIT_{who}_{what[0]}": what[1] for who in ("AUTHOR", "COMMITTER") for what in ADA}
    return Terminal(
        here,
        {
            **kept,
            **people,
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "COLUMNS": "160",
            **use_wheels(wheels),
        },
    )


def use_wheels(folder: Path) -> dict[str, str]:
    """Return the variables by which pip and uv install from the folder alone: the demo its coverage.py."""
    own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}
    return own | {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(folder)}


ADA = (("NAME", "Ada"), ("EMAIL", "ada@example.org"))


def run_demo(terminal: Terminal) -> None:
    """Run the demo; the pages begin where it ended."""
    link_uv(terminal)
    terminal.type("punchlist demo --folder shop")
    terminal.type("cd shop/stockroom")
    shutil.copy(ROOT / "src/punchlist/model/ledger/verify_ledger.py", terminal.here)


def write_registry(terminal: Terminal) -> None:
    """Let a folder with one package be the registry, so that nothing is fetched."""
    registry = terminal.here.parent / "registry"
    registry.mkdir()
    about = "titlecase-1.0.dist-info/"
    files = {
        "titlecase.py": "def titlecase(text):\n    return text.title().replace(' Of ', ' of ')\n",
        f"{about}METADATA": "Metadata-Version: 2.1\nName: titlecase\nVersion: 1.0\n",
        f"{about}WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}RECORD": "",
    }
    with zipfile.ZipFile(registry / "titlecase-1.0-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    terminal.env |= use_wheels(registry)


class Journey(NamedTuple):
    """Pages that are followed one after the other at one terminal, and what is done before them."""

    pages: tuple[str, ...]
    prepare: Callable[[Terminal], None] = lambda _: None

    def follow(self, terminal: Terminal) -> list[Difference]:
        self.prepare(terminal)
        return [found for page in self.pages for found in terminal.follow(ROOT / page)]


def link_uv(terminal: Terminal) -> None:
    """Let the demo install with uv, which is quicker, if `make` installed one."""
    uv = ROOT / ".venv/uv/bin/uv"
    if uv.exists():
        (terminal.here.parent / "programs/uv").symlink_to(uv)


SPECIAL = {
    "tutorial": Journey(("docs/tutorial.md",), link_uv),
    "demo": Journey(
        (
            "docs/explanation/ledger.md",
            "docs/guides/settings.md",
            "docs/guides/workflows.md",
            "docs/explanation/why-not-ruff-and-an-agent.md",
        ),
        run_demo,
    ),
    "which-python": Journey(("docs/guides/which-python.md",), write_registry),
}
"""Pages that do not begin in an empty folder. The README is followed by tools/newcomer.py."""


def find_journeys() -> dict[str, Journey]:
    """Return the journeys by name: each other page of docs/ with commands is one of its own."""
    special = {page for journey in SPECIAL.values() for page in journey.pages}
    pages = [page for page in sorted((ROOT / "docs").rglob("*.md")) if has_commands(page)]
    paths = {page.stem: str(page.relative_to(ROOT)) for page in pages}
    return {name: Journey((path,)) for name, path in paths.items() if path not in special} | SPECIAL


def has_commands(page: Path) -> bool:
    return any(isinstance(step, Step) for step in parse_page(page.read_text("utf-8")))


JOURNEYS = find_journeys()


def write_differences(found: Iterable[Difference]) -> None:
    for page, step, printed in sorted(found, key=lambda each: each.step.span, reverse=True):
        text, (begin, end) = page.read_text("utf-8"), step.span
        lines = "".join(f"{line}\n" for line in choose_lines(step.shown, printed))
        page.write_text(text[:begin] + lines + text[end:], "utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("journeys", nargs="*", help=f"of {', '.join(JOURNEYS)}; else all")
    asked = arguments.parse_args()
    different = 0
    for name in asked.journeys or JOURNEYS:
        with tempfile.TemporaryDirectory(prefix="punchlist-docs-") as folder:
            terminal = open_terminal(Path(folder), [sys.executable, "-m", "punchlist"])
            found = JOURNEYS[name].follow(terminal)
        print(f"{name}: {len(found)} outputs differ")
        different += len(found)
        if not asked.write:
            print(*found, sep="\n\n")
            continue
        write_differences(found)
        if drawn := terminal_picture.draw(terminal.printed):
            terminal_picture.PICTURE.write_text(drawn, "utf-8")
    return 1 if different and not asked.write else 0


if __name__ == "__main__":
    sys.exit(main())
