"""The documentation does what it says: its commands are run, its files are read, its links lead somewhere."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

import warm
from punchlist.adapters.agents.registry import AGENTS
from punchlist.model.item.item import Status
from punchlist.model.item.proof import ProofClass
from punchlist.ports.agent import AgentTrouble
from punchlist.ports.roles import ROLES
from punchlist.settings import load_settings
from punchlist.steps import VERBS
from punchlist.workflow.loader import parse_workflow

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"`([\w./-]+)`:\n\n\Z")
"""How a page says where the block that follows is to be saved."""
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
VARIES = (
    (re.compile(r"\b\d{6}-[0-9a-f]{6}\b|\bRUN\b"), "RUN"),
    (re.compile(r" · (\d+ min )?[\d.]+ m?s · "), " · N s · "),
    (re.compile(r" in \d[\d.]*s$"), " in N s"),
    (re.compile(r"^[0-9a-f]{7} |(?<= at )[0-9a-f]{10}$"), "COMMIT "),
    (re.compile(r" in \S*/repos/[0-9a-f]+/issues"), " in STATE/issues"),
    (re.compile(r"\b\d+ entries\b"), "N entries"),
)


class Step(Struct, frozen=True):
    """A command of a page, and the lines it says come of it; `...` stands for others."""

    command: str
    output: tuple[str, ...]


class Saving(Struct, frozen=True):
    """A file that a page has its reader write, from where they stand."""

    path: str
    text: str


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in FENCE.findall(page.read_text("utf-8")) if kind == language]


def steps(page: Path) -> Iterator[Step | Saving]:
    whole = page.read_text("utf-8")
    for fence in FENCE.finditer(whole):
        kind, block = fence.groups()
        if kind != "console" and (saved := SAVED.search(whole[: fence.start()])):
            yield Saving(saved[1], block)
        for part in block.split("$ ")[1:] if kind == "console" and block.startswith("$ ") else []:
            command, *output = part.rstrip("\n").split("\n")
            yield Step(command, tuple(line for line in output if line.strip() not in ("", "...")))


def plain(line: str) -> str:
    for pattern, word in VARIES:
        line = pattern.sub(word, line)
    return " ".join(line.split())


def told_in_order(expected: tuple[str, ...], said: str) -> str:
    """The first line that a page promises and the command does not print, or an empty string."""
    lines = iter([plain(line) for line in said.splitlines()])
    return next((line for line in expected if plain(line) not in lines), "")


class Shell:
    """A person at a terminal: a home of their own, punchlist on PATH, and a folder they stand in."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.here = folder
        programs = folder.parent / "programs"
        programs.mkdir()
        launcher = programs / "punchlist"
        launcher.write_text(f'#!/bin/sh\nexec {shlex.join(warm.command())} "$@"\n')
        launcher.chmod(0o755)
        source = f"{ROOT / 'src'}:{os.environ.get('PYTHONPATH', '')}"
        self.env = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": source,
            "COLUMNS": "160",
        }

    def type(self, command: str) -> str:
        if command.startswith("cd "):
            self.here /= command.removeprefix("cd ")
            return ""
        if command.startswith("export "):
            name, _, value = command.removeprefix("export ").partition("=")
            self.env[name] = value
            return ""
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=self.here,
            env=self.env,
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
        )
        assert ran.returncode in (0, 1, 6), f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def follow(self, page: Path) -> None:
        for step in steps(page):
            if isinstance(step, Saving):
                (self.here / step.path).write_text(step.text)
                continue
            said = self.type(step.command)
            missing = told_in_order(step.output, said)
            assert not missing, (
                f"{page.name}: $ {step.command}\nis said to print\n{missing}\nand printed\n{said}"
            )


@pytest.fixture
def shell(tmp_path: Path, isolated: Path) -> Shell:
    (tmp_path / "here").mkdir()
    return Shell(tmp_path / "here", isolated)


def test_the_tutorial_runs_as_written(shell: Shell):
    shell.follow(ROOT / "docs/tutorial.md")


def test_a_legacy_repository_is_adopted_as_written(shell: Shell):
    shell.follow(ROOT / "docs/guides/adopt-a-legacy-repository.md")


def test_other_pages_show_what_the_demo_shows(shell: Shell):
    said = shell.type("punchlist demo --folder shop")
    (excerpt,) = (text for text in blocks(ROOT / "README.md", "text") if text.startswith("Run "))
    assert not told_in_order(tuple(line for line in excerpt.splitlines() if line.strip()), said), (
        said
    )
    shell.type("cd shop/stockroom")
    shutil.copy(ROOT / "src/punchlist/model/ledger/verify_ledger.py", shell.here)
    for page in ("explanation/ledger.md", "guides/settings.md", "guides/workflows.md"):
        assert list(steps(ROOT / "docs" / page)), page
        shell.follow(ROOT / "docs" / page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path):
    targets = [
        target.partition("#")[0] for target in LINK.findall(FENCE.sub("", page.read_text("utf-8")))
    ]
    local = [target for target in targets if target and not target.startswith(("http:", "https:"))]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_settings_file_and_workflow_shown_can_be_used(page: Path):
    for text in blocks(page, "toml"):
        assert tomllib.loads(text)
        assert load_settings(text, {}, {"HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"})
    for text in blocks(page, "yaml"):
        if "steps:" in text:
            assert parse_workflow(text, "shown", str(page)).steps


def test_every_decision_is_in_the_index():
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text("utf-8")
    assert [
        note.name
        for note in sorted(folder.glob("*.md"))
        if note.name != "README.md" and f"({note.name})" not in index
    ] == []


def test_every_page_can_be_reached_from_the_first_one():
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page not in seen and page.suffix == ".md" and page.is_file():
            seen.add(page)
            links = (target.partition("#")[0] for target in LINK.findall(page.read_text("utf-8")))
            waiting += [page.parent / target for target in links if target and "://" not in target]
    assert [str(page.relative_to(ROOT)) for page in PAGES if page.resolve() not in seen] == []


def test_the_agents_guide_names_every_kind_of_agent_and_every_role():
    guide = (ROOT / "docs/guides/agents.md").read_text("utf-8")
    assert [
        name
        for name in (*AGENTS, *ROLES)
        if f"`{name}`" not in guide and f'kind = "{name}"' not in guide
    ] == []


def test_the_glossary_has_a_word_for_every_status_proof_trouble_and_verb():
    glossary = (ROOT / "docs/glossary.md").read_text("utf-8")
    words = [
        *Status,
        *ProofClass,
        *(trouble for trouble in AgentTrouble if trouble is not AgentTrouble.OTHER),
        *VERBS,
    ]
    assert [word for word in words if not re.search(rf"\b{re.escape(word)}\b", glossary)] == []


def test_every_workflow_is_told_of():
    built_in = [path.stem for path in (ROOT / "src/punchlist/workflow/builtin").glob("*.yaml")]
    guide = (ROOT / "docs/guides/workflows.md").read_text("utf-8")
    assert [name for name in built_in if f"| `{name}` |" not in guide] == []


def test_a_line_that_is_not_printed_is_noticed():
    assert told_in_order(("a", "c"), "a\nb\nc\n") == ""
    assert told_in_order(("c", "a"), "a\nb\nc\n") == "a"
    assert told_in_order(("9 of 18 items",), "8 of 18 items\n") == "9 of 18 items"
