"""Laws of reading: whatever a document holds, each entry is a finding or a refusal, and nothing else is raised."""

import asyncio
import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from folder_tree import CODE, Folder
from hypothesis import given, settings
from hypothesis import strategies as st
from test_documents import MARKDOWN

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.errors import UsageError

NAMES = [
    "title",
    "file",
    "line",
    "severity",
    "message",
    "location",
    "path",
    "range",
    "start",
    "end",
    "column",
    "ruleId",
    "text",
    "locations",
]
NAMES += [
    "physicalLocation",
    "artifactLocation",
    "uri",
    "region",
    "startLine",
    "fixes",
    "artifactChanges",
    "replacements",
    "id",
    "findings",
]
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["src/a.py", "5-6", "error"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def read():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "tree/src").mkdir(parents=True)
        (root / "tree/src/a.py").write_text(CODE)

        def analysis(content):
            (root / "given").write_bytes(content)
            return asyncio.run(
                FindingsDocument.open(root / "given").analyze(Folder(root / "tree"), None)
            )

        yield analysis


def entries(analysis):
    return len(analysis.findings) + len(analysis.refused)


@settings(max_examples=60, deadline=None)
@given(found=st.lists(anything, min_size=1, max_size=4))
def test_every_entry_of_a_list_is_a_finding_or_a_refusal(read, found):
    folds = [
        each["findings"]
        if isinstance(each, dict) and isinstance(each.get("findings"), list)
        else [each]
        for each in found
    ]
    assert entries(read(json.dumps(found).encode())) == sum(map(len, folds))


@settings(max_examples=60, deadline=None)
@given(results=st.lists(anything, min_size=1, max_size=4))
def test_every_result_of_a_sarif_log_is_a_finding_or_a_refusal(read, results):
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": results}]}
    assert entries(read(json.dumps(log).encode())) == len(results)


@settings(max_examples=40, deadline=None)
@given(diagnostics=st.lists(anything, min_size=1, max_size=4))
def test_every_diagnostic_is_a_finding_or_a_refusal(read, diagnostics):
    assert entries(read(json.dumps({"diagnostics": diagnostics}).encode())) == len(diagnostics)


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(st.characters(codec="utf-8"), max_size=200).map(str.encode),
        st.integers(0, len(MARKDOWN)).map(lambda n: MARKDOWN[:n].encode()),
    )
)
def test_bytes_of_any_kind_are_read_or_refused(read, content):
    with contextlib.suppress(UsageError):
        read(content)
