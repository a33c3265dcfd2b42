"""A template is compiled once, and again when anything changes that decides what it is compiled to."""

import sys
from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from punchlist.adapters.reports.template_cache import CompiledTemplates


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (tmp_path / "page.html").write_text("one {{ name }}")
    return tmp_path


class Compilations(Environment):
    """Counts how often it compiles."""

    count = 0

    def _compile(self, source, filename):
        self.count += 1
        return super()._compile(source, filename)


def render(folder, made_by=b"environment"):
    cache = CompiledTemplates(folder, made_by)
    environment = Compilations(loader=FileSystemLoader(folder), bytecode_cache=cache)
    return environment.get_template("page.html").render(name="page"), environment.count


def test_a_template_is_compiled_once(folder):
    assert render(folder) == ("one page", 1)
    assert render(folder) == ("one page", 0)


def test_a_changed_template_is_compiled_anew(folder):
    render(folder)
    (folder / "page.html").write_text("two {{ name }}")
    assert render(folder) == ("two page", 1)


def test_what_another_environment_compiled_is_not_used(folder):
    render(folder)
    assert render(folder, b"another") == ("one page", 1)


@pytest.mark.parametrize("left", [0, 1, 30, 200])
def test_a_damaged_file_is_compiled_anew(folder, left):
    render(folder)
    (kept,) = (folder / "__pycache__").iterdir()
    kept.write_bytes(kept.read_bytes()[:left])
    assert render(folder) == ("one page", 1)
    assert render(folder) == ("one page", 0)


def test_nothing_is_written_where_python_writes_no_bytecode(folder, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert render(folder) == ("one page", 1)
    assert not (folder / "__pycache__").exists()


def test_a_folder_that_cannot_be_written_is_no_error(folder):
    (folder / "__pycache__").write_text("a file where the folder would be")
    assert render(folder) == ("one page", 1)
