"""Files of findings that are broken, huge, or about things that are not there: what can be read is, the rest is said."""

import json
import os
import time

import pytest
from hostile_ground import RUFF, notes

CODE = "import os\n\nprint(1)\n"


def result(path="a.py", line=3, text="wrong", **more):
    place = {"physicalLocation": {"artifactLocation": {"uri": path}, "region": {"startLine": line}}}
    return {"ruleId": "X1", "message": {"text": text}, "locations": [place], **more}


def sarif(*results):
    return {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "scan"}}, "results": list(results)}],
    }


@pytest.fixture
def given(repo, ground, tmp_path):
    """A run over one file of findings, written as it is given."""
    repo.commit({"a.py": CODE})

    def run(content, name="findings.sarif", *more):
        file = tmp_path / name
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return ground(
            "run", "--all", "--no-checks", "--json", *RUFF, "--findings", str(file), *more
        )

    return run


@pytest.mark.parametrize("damage", ["cut off", "a brace too many", "a stray byte"])
def test_a_malformed_sarif_of_a_hundred_megabytes_is_refused_in_bounded_time_and_nothing_is_recorded(
    given, ground, damage
):
    one = json.dumps(result(text="x" * 900)).encode()
    count = 100_000_000 // (len(one) + 2)
    whole = (
        b'{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "scan"}}, "results": ['
        + b",\n".join([one] * count)
        + b"]}]}"
    )
    assert len(whole) > 99_000_000
    half = whole.index(b",\n", len(whole) // 2)
    broken = {
        "cut off": whole[:-5000],
        "a brace too many": whole[:half] + b"}}]" + whole[half:],
        "a stray byte": whole[:half] + b"@" + whole[half:],
    }[damage]
    began = time.monotonic()
    told = given(broken, "findings.sarif", "--set", "limits.report-size=128")
    assert time.monotonic() - began < 60
    assert told.code == 2
    assert "findings.sarif is not valid JSON" in told.error
    assert ground.ledgers() == 0


def test_a_file_that_is_cut_off_is_refused_before_anything_begins(given, ground):
    told = given(json.dumps(sarif(result())).encode()[:-4])
    assert told.code == 2
    assert "not valid JSON" in told.error
    assert ground.ledgers() == 0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 100,
        b"null",
        b"17",
        b'"x"',
        b"{}",
        b"PK\x03\x04",
        b"[" * 200_000,
        b'{"a":' * 200_000,
    ],
)
def test_what_is_no_report_at_all_is_refused(given, ground, content):
    told = given(content)
    assert told.code == 2, told.stdout
    assert "findings.sarif" in told.error
    assert ground.ledgers() == 0


@pytest.mark.parametrize(
    "document",
    [
        {"version": "2.1.0", "runs": []},
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}}]},
        {"version": "1.0.0", "runs": [{}]},
    ],
)
def test_a_report_in_which_nobody_looked_is_not_clean(given, ground, document):
    told = given(document)
    assert told.code == 3, told.stdout
    assert told.json["report"]["outcome"] == "incomplete"
    assert ground.sound()["ok"]


def test_one_bad_entry_costs_itself_and_is_said(given, ground):
    told = given(
        sarif(
            result(text="first"),
            17,
            {"message": 3},
            None,
            result(text="last"),
            {"locations": "x", "message": {"text": "odd"}},
        )
    )
    assert {"first", "last"} <= {item["title"] for item in ground.items()}
    report = told.json["report"]
    seen = len(
        [item for item in report["items"] if item["title"] in ("first", "last", "odd")]
    ) + len(report["refused"])
    assert seen == 6, report["refused"]
    assert told.code != 0
    assert "was not understood" in notes(told)
    assert ground.sound()["ok"]


@pytest.mark.parametrize("bad", ['{"title": "no file"}', "17", "[]", '{"file": 3, "title": []}'])
def test_one_bad_entry_in_a_list_of_findings_costs_itself(given, ground, bad):
    good = '{"file": "a.py", "line": 3, "title": "good", "severity": "major"}'
    told = given(f"[{good}, {bad}, {good.replace('good', 'also good')}]".encode(), "findings.json")
    titles = {item["title"] for item in ground.items()}
    assert {"good", "also good"} <= titles
    report = told.json["report"]
    assert ground.sound()["reported"] >= 3 or report["refused"], report


def test_findings_outside_the_root_in_deleted_files_and_on_lines_that_are_not_there_are_kept_with_the_reason(
    repo, ground, given
):
    repo.commit({"gone.py": CODE})
    repo.git("rm", "--quiet", "gone.py")
    repo.commit()
    places = [
        "/etc/passwd",
        "../../outside.py",
        "file:///etc/shadow",
        "gone.py",
        "never.py",
        "C:\\windows\\x.py",
        "",
        "a.py/",
        "a\x00b.py",
    ]
    told = given(
        sarif(
            *(result(path, text=f"about {number}") for number, path in enumerate(places)),
            result("a.py", 10**9, "about a line"),
        )
    )
    assert told.code in (1, 3), told.stderr
    items = {item["title"]: item for item in ground.items()}
    assert {f"about {number}" for number in range(len(places))} | {"about a line"} <= items.keys()
    for name, item in items.items():
        if name.startswith("about"):
            assert item["status"] in ("filed", "dismissed", "open"), item
            assert "root:" not in json.dumps(item), "a file outside was read"
    assert ground.sound()["ok"]


def test_a_fix_in_a_report_cannot_reach_out_of_the_repository(repo, ground, given, tmp_path):
    victim = tmp_path / "victim.txt"
    victim.write_text("untouched")

    def change(uri):
        region = {"startLine": 1, "startColumn": 1, "endColumn": 2}
        return [
            {
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": uri},
                        "replacements": [
                            {"deletedRegion": region, "insertedContent": {"text": "X"}}
                        ],
                    }
                ]
            }
        ]

    uris = [victim.as_uri(), str(victim), "../victim.txt", ".git/config", ".git/hooks/pre-commit"]
    told = given(
        sarif(*(result(fixes=change(uri), text=f"fix {number}") for number, uri in enumerate(uris)))
    )
    assert told.code in (1, 3), told.stderr
    assert victim.read_text() == "untouched"
    assert not (repo.root / ".git/hooks/pre-commit").exists()
    assert not [
        item
        for item in ground.items()
        if item["status"] == "fixed" and item["title"].startswith("fix ")
    ]
    assert ground.sound()["ok"]


def test_words_in_a_report_cannot_act_in_the_terminal_the_page_or_the_issue(given, ground):
    text = "\x1b]0;owned\x07\x1b[2J <script>alert(1)</script> [x](javascript:alert(1)) \u202e @everyone\r\nPunchlist-Items: 1"
    given(sarif(result(text=text, level="error")))
    shown = ground("show")
    assert "\x1b" not in shown.stdout
    assert "\u202e" not in shown.stdout
    (page,) = ground.home.glob("runs/*/report.html")
    assert "<script>alert(1)" not in page.read_text()
    assert ground.sound()["ok"]


def test_a_file_that_is_a_folder_a_device_or_not_there_is_refused(repo, ground, tmp_path):
    repo.commit({"a.py": CODE})
    for path in (tmp_path, tmp_path / "nowhere.json"):
        told = ground("run", "--all", "--findings", str(path))
        assert told.code == 2
        assert str(path) in told.error
    empty = ground("run", "--all", "--findings", "/dev/null")
    assert empty.code == 2
    assert "/dev/null" in empty.error


def test_a_pipe_is_refused_because_a_resumed_run_would_find_it_empty(repo, ground, tmp_path):
    repo.commit({"a.py": CODE})
    reading, writing = os.pipe()
    os.write(writing, json.dumps(sarif(result())).encode())
    os.close(writing)
    told = ground("run", "--all", "--findings", f"/dev/fd/{reading}")
    os.close(reading)
    assert told.code == 2
    assert "no plain file" in told.error
    assert ground.ledgers() == 0


def test_the_findings_file_may_vanish_once_the_run_has_begun(given, ground, tmp_path):
    given(sarif(result()), "findings.sarif")
    (tmp_path / "findings.sarif").unlink()
    assert ground("resume").code == 1
    assert ground.sound()["ok"]
