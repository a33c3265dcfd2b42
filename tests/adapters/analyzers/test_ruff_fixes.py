"""What ruff would write is what its splices give, for any text."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from punchlist.adapters.analyzers.tools.ruff import parse
from punchlist.intake.source_files import Sources
from punchlist.model.patch.patch import Patch, ReservedSpans, apply_splices

RUFF = str(Path(sys.executable).parent / "ruff")
OPTIONS = ("check", "--isolated", "--no-cache", "--exit-zero", "--quiet", "--target-version=py310")

STATEMENTS = st.sampled_from(
    [
        "import os",
        "import sys; x = '😀é'; import re",
        "from typing import Optional as O, List",
        "x = '🐍\u2028b\x0b' ",
        "y = u'ä'  \t",
        "\x0cimport json",
        "z: 'List[int]' = set([1, '😀'])",
        "class A(object): pass   ",
        "s = '😀'; super(A, s).x('{}'.format(1))",
        "# Kommentar mit Wörtern \u3000",
        "",
        "    ",
        "if 1:\n    import csv",
        "t = '''a  \r\n  b😀  '''",
        "str('x').encode('utf-8')  ",
    ]
)
TEXTS = st.tuples(
    st.sampled_from(["", "\ufeff"]),
    st.lists(st.tuples(STATEMENTS, st.sampled_from(["\n", "\r\n", "\r"])), min_size=1, max_size=8),
    st.booleans(),
).map(lambda parts: parts[0] + "".join(s + e for s, e in parts[1])[: None if parts[2] else -1])


class OneFile:
    commit = ""

    def __init__(self, root, text):
        self.root = root
        self._text = text

    def files(self):
        return ("a.py",)

    def text(self, path):
        return self._text if path == "a.py" else None


@pytest.mark.parametrize("rule", ["F401", "W291,W293", "UP"])
@given(text=TEXTS)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_splices_give_what_ruff_writes(tmp_path, rule, text):
    file = tmp_path / "a.py"
    file.write_bytes(text.encode())
    report = _report(tmp_path, rule, "a.py")
    analysis = parse(report, Sources(OneFile(tmp_path, text)))
    assert (analysis.failed, analysis.refused) == ("", ())
    fixes = [finding.fix for finding in analysis.findings if finding.fix]
    assert len(fixes) == report.count(b'"applicability"')
    taken = ReservedSpans()
    for fix in fixes:
        assume(taken.admits(Patch(fix.splices)))
        taken.reserve(Patch(fix.splices))
    ours = apply_splices(text, [splice for fix in fixes for splice in fix.splices])
    written = tmp_path / "b" / "a.py"
    written.parent.mkdir(exist_ok=True)
    written.write_bytes(text.encode())
    fix_all = [RUFF, *OPTIONS, f"--select={rule}", "--fix", "--unsafe-fixes", "a.py"]
    subprocess.run(fix_all, cwd=written.parent, check=True, capture_output=True)
    theirs = written.read_bytes().decode()
    assume(not _more(tmp_path, rule, ours))
    assert ours == theirs


def _more(folder, rule, text):
    """One fix may make room for another, which --fix applies as well."""
    (folder / "c.py").write_bytes(text.encode())
    return b'"applicability"' in _report(folder, rule, "c.py")


def _report(folder, rule, name):
    command = [RUFF, *OPTIONS, f"--select={rule}", "--output-format=json", name]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
