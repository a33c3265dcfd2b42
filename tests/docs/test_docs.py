"""The documentation does what it says: its commands are run, its files are read, its links lead somewhere."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import terminal_picture
from follow_docs import FENCE, JOURNEYS, File, Terminal, has_commands, open_terminal, parse_page

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
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in FENCE.findall(page.read_text("utf-8")) if kind == language]


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return open_terminal(tmp_path, warm.command())


@pytest.mark.parametrize("journey", JOURNEYS)
def test_commands_print_what_the_pages_show(terminal: Terminal, journey: str):
    different = JOURNEYS[journey].follow(terminal)
    assert not different, "\n\n".join(map(str, different)) + "\n\nrun: make refresh"
    drawn = terminal_picture.draw(terminal.printed)
    assert drawn in ("", terminal_picture.PICTURE.read_text("utf-8")), "run: make refresh"
    assert bool(drawn) == (journey == "tutorial")


def test_the_readme_shows_what_the_tutorial_shows():
    """The README's commands are typed by tools/newcomer.py, which takes minutes."""
    lines = {
        line
        for block in blocks(ROOT / "docs/tutorial.md", "console")
        for line in block.splitlines()
    }
    shown = [line for block in blocks(ROOT / "README.md", "console") for line in block.splitlines()]
    assert [line for line in shown if not line.startswith("$ ") and line not in lines] == []


def test_every_page_with_commands_is_followed():
    followed = {"README.md", *(page for journey in JOURNEYS.values() for page in journey.pages)}
    assert {str(page.relative_to(ROOT)) for page in PAGES if has_commands(page)} == followed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path):
    targets = [
        target.partition("#")[0] for target in LINK.findall(FENCE.sub("", page.read_text("utf-8")))
    ]
    local = [target for target in targets if target and not target.startswith(("http:", "https:"))]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_settings_file_and_workflow_shown_can_be_used(page: Path):
    steps = parse_page(page.read_text("utf-8"))
    others = [step.text for step in steps if isinstance(step, File) and "pyproject" in step.path]
    for text in [block for block in blocks(page, "toml") if block not in others]:
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


def test_the_demo_says_what_it_sets_up_and_needs_only_the_product():
    command = ["make", "--no-print-directory", "--dry-run", "--always-make", "demo"]
    typed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    first, *rest = typed.splitlines()
    assert first.startswith('echo "setting up .venv with what punchlist needs')
    assert any("--editable ." in line for line in rest)
    assert "--group" not in typed
