"""Hooks of the documentation site (mkdocs.yml): the navigation is docs/index.md, and pages outside of docs/ are part of it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OUTSIDE = {
    ROOT / "ARCHITECTURE.md": "architecture.md",
    ROOT / "CHANGELOG.md": "changes.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "SECURITY.md": "security.md",
    ROOT / "bench/README.md": "measurements.md",
    ROOT / "src/punchlist/model/ledger/verify_ledger.py": "verify_ledger.py",
}
"""Files that pages lead to, and where they are in the site."""
LESS_SEARCHED = ("reference/", "conformance.md", "changes.md", "decisions/")
"""Pages that name everything: in a search the others come first."""
LINK = re.compile(r"(\]\()(?![a-z]+:)([^)\s#]+)")
ENTRY = re.compile(r"^(?:- |\| )\[([^\]]+)\]\(([\w./-]+\.md)\)", re.MULTILINE)


def on_config(config: Any) -> Any:
    config.nav = [{"Start": "index.md"}, *read_navigation()]
    return config


def read_navigation() -> Iterator[dict[str, Any]]:
    """Yield the sections of docs/index.md; the decisions are those of their own index."""
    _, *sections = re.split(
        r"^## (.+)\n", (DOCS / "index.md").read_text("utf-8"), flags=re.MULTILINE
    )
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        yield {title: list(read_entries(DOCS / "index.md", text))}


def read_entries(page: Path, text: str) -> Iterator[dict[str, str] | str]:
    for title, target in ENTRY.findall(text):
        path = (page.parent / target).resolve()
        where = find_place(path)
        if path.name == "README.md" and path.parent.parent == DOCS:
            yield where
            yield from read_entries(path, path.read_text("utf-8"))
        else:
            yield {title: where}


def find_place(path: Path) -> str:
    """Return where a file of the repository is in the site."""
    return OUTSIDE.get(path) or os.path.relpath(path, DOCS)


def on_files(files: Any, config: Any) -> Any:
    for path, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=path.read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links lead to where the files are in the site."""
    place = page.file.src_uri
    if place.startswith(LESS_SEARCHED):
        page.meta["search"] = {"boost": 0.3}
    source = next((path for path, at in OUTSIDE.items() if at == place), DOCS / place)

    def lead(found: re.Match[str]) -> str:
        path = (source.parent / found[2]).resolve()
        return found[1] + os.path.relpath(find_place(path), Path(place).parent)

    return LINK.sub(lead, markdown)
