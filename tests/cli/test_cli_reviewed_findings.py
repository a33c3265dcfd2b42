"""Every finding of a review ends fixed, blocked or as an issue, wherever it lies and however the reviewer wrote it."""

import json
from pathlib import Path

import pytest

BASE = {
    "api.py": "def load(name):\n    return open(name).read()\n",
    "caller.py": "from api import load\n\n\ndef first():\n    return load('a')\n\n\ndef last():\n    return load('z')\n",
    "old.py": "def helping():\n    return 2\n",
}
CHANGE = {"api.py": "def load(name, mode):\n    return open(name, mode).read()\n"}
FINDINGS = {
    "changed": ("api.py", 2, "the file that load() opens is never closed"),
    "outside": ("caller.py", 5, "first() calls load() without a mode"),
    "partly": ("caller.py", 9, "last() and its callers pass no mode"),
    "deleted": ("old.py", 1, "helping() was removed and is documented"),
    "unknown": ("never.py", 3, "there is no such file at all"),
}
GROUPED = {
    "groups": [
        {
            "description": "all",
            "findings": [
                {"id": name, "file": path, "line": str(line), "issue": issue, "severity": "major"}
                for name, (path, line, issue) in FINDINGS.items()
            ],
        }
    ]
}
DOCUMENT = "# Review\n\n## Critical Issues\n\n" + "".join(
    f"{at}. **[Contract]:** {issue}\n   - **File:** `{path}:{line}`\n   - **Problem:** seen by reading\n"
    for at, (path, line, issue) in enumerate(FINDINGS.values(), 1)
)
SAME = {"title": "helping() was removed but is documented", "file_path": "old.py", "line_start": 4}
FIXES = [
    {
        "when": "is never closed",
        "edits": [
            {
                "path": "api.py",
                "content": "def load(name, mode):\n    with open(name, mode) as file:\n        return file.read()\n",
            }
        ],
    },
    {
        "when": "first() calls load()",
        "edits": [{"path": "caller.py", "replace": "load('a')", "with": "load('a', 'r')"}],
    },
    {
        "when": "last() and its callers",
        "edits": [{"path": "caller.py", "replace": "load('z')", "with": "load('z', 'r')"}],
        "outcome": {"outcome": "partially fixed", "explanation": "the callers are still to do"},
    },
]


@pytest.mark.parametrize(
    ("workflow", "reviews"),
    [
        ("unified", [{"role": "unified", "answer": GROUPED}]),
        (
            "accountable",
            [
                {"role": "spec", "answer": DOCUMENT},
                {
                    "role": "technical",
                    "answer": {"findings": [{**SAME, "severity": "minor"}], "summary": ""},
                },
            ],
        ),
    ],
)
def test_every_finding_of_a_review_has_an_end(repo, make_punchlist, tmp_path, workflow, reviews):
    repo.commit(BASE, "base")
    repo.git("checkout", "--quiet", "-b", "topic")
    (repo.root / "old.py").unlink()
    repo.commit(CHANGE, "a change")
    script, settings = tmp_path / "script.json", tmp_path / "settings.toml"
    script.write_text(json.dumps([*reviews, {"role": "fixer", "fixes": FIXES}]))
    settings.write_text(
        f'[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{script}"\n'
    )
    punchlist = make_punchlist(repo.root)
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    ran = punchlist("run", "--workflow", workflow, "--no-checks")
    assert ran.returncode == 1, ran.stderr
    items = {item["findings"][0]["title"]: item for item in punchlist.json("show", "last")}
    assert len(items) == 5, items.keys()
    ends = {name: items[issue] for name, (_, _, issue) in FINDINGS.items()}
    assert {name: item["status"] for name, item in ends.items()} == {
        "changed": "fixed",
        "outside": "fixed",
        "partly": "filed",
        "deleted": "filed",
        "unknown": "filed",
    }
    for name in ("deleted", "unknown"):
        assert "Referenced file deleted" in Path(ends[name]["issue"]).read_text()
    assert "the callers are still to do" in Path(ends["partly"]["issue"]).read_text()
    branch = repo.git("for-each-ref", "--format=%(refname)", "refs/heads/punchlist")
    assert repo.git("show", f"{branch}:caller.py").count("'r'") == 1
    if workflow == "accountable":
        assert {item["findings"][0]["severity"] for item in items.values()} == {"critical"}
        assert len(ends["deleted"]["findings"]) == 2
