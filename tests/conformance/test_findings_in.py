"""Findings on their way in: merged without loss, named by us, and an answer that is none is a failure."""

import asyncio
import json
import time
from random import Random

import pytest
from scripted import CRITICAL, MAJOR, MINOR, MemoryTree, Said, finding

from punchlist.adapters.documents.document import FindingsDocument
from punchlist.errors import UsageError
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.item.item import Status

TREE = MemoryTree("base", {"src/a.py": "x = 1\n" * 60, "src/b.py": "y = 2\n" * 60})
MERGING = "steps: [review, {consolidate: {rule: %s}}, report]"


def ranged(number, source, first, last, severity, **more):
    return Finding(
        id=f"{source}{number}",
        source=source,
        spot=Spot("src/a.py", first, last),
        severity=severity,
        **more,
    )


def documents(bench, *found):
    """Each source speaks in a document of its own."""
    sources = dict.fromkeys(each.source for each in found)
    bench.documents = {
        source: Said(*(each for each in found if each.source == source)) for source in sources
    }


@pytest.mark.parametrize("rule", ["near", "smart"])
def test_one_title_on_overlapping_lines_is_one_item_of_the_worse_severity_with_both_voices(
    make_bench, rule
):
    bench = make_bench(TREE.texts)
    documents(
        bench,
        ranged(1, "ada", 10, 15, MINOR, title="Query is built from text", detail="seen in a log"),
        ranged(
            2, "bob", 12, 18, CRITICAL, title="Query is built from text", detail="can be injected"
        ),
    )
    run = bench.run(MERGING % rule)
    (item,) = run.items.values()
    assert item.severity is CRITICAL
    assert {each.source: each.detail for each in item.findings} == {
        "ada": "seen in a log",
        "bob": "can be injected",
    }
    assert bench.audit(run.id).merged == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("unused variable a", "unused variable b"),
        ("`left` may be None", "`right` may be None"),
        ("missing docstring in get_user", "missing docstring in set_user"),
        ("Division by zero when count is 0", "Division by zero when total is 0"),
    ],
)
def test_what_differs_only_in_a_name_is_two_items(make_bench, one, two):
    bench = make_bench(TREE.texts)
    documents(
        bench,
        ranged(1, "ada", 10, 10, MAJOR, title=one),
        ranged(2, "bob", 10, 10, MAJOR, title=two),
    )
    assert len(bench.run(MERGING % "smart").items) == 2


def test_one_label_of_two_reviewers_is_two_items_with_numbers_of_ours(tmp_path, make_bench):
    bench = make_bench(TREE.texts)
    for name, title, line in (("ada", "Leaks a handle", 5), ("bob", "Off by one", 40)):
        path = tmp_path / f"{name}.json"
        path.write_text(
            json.dumps(
                [
                    {
                        "id": "F001",
                        "file": "src/a.py",
                        "line": line,
                        "title": title,
                        "severity": "high",
                    }
                ]
            )
        )
        bench.documents[name] = FindingsDocument.open(path, name=name)
    run = bench.run("steps: [review, consolidate, report]")
    assert [(item.number, item.lead.label, item.lead.source) for item in run.items.values()] == [
        (1, "F001", "ada"),
        (2, "F001", "bob"),
    ]
    assert len({item.fingerprint for item in run.items.values()}) == 2


@pytest.mark.parametrize(
    "path",
    [
        "src/a.py",
        "./src/a.py",
        "/nowhere/src/a.py",
        "src//a.py",
        "src/x/../a.py",
        "file:///nowhere/src/a.py",
    ],
)
def test_every_spelling_of_a_path_is_one_file(tmp_path, path):
    (found,) = read(tmp_path, [{"file": path, "line": 3, "title": "t"}]).findings
    assert (found.spot.path, found.marks[1:]) == ("src/a.py", ())


@pytest.mark.parametrize(
    ("path", "said"),
    [("/etc/passwd", "outside"), ("../up.py", "outside"), ("src/", "directory"), ("", "no file")],
)
def test_a_path_that_is_none_of_ours_is_kept_and_marked(tmp_path, path, said):
    (found,) = read(
        tmp_path, [{"file": path, "line": 3, "title": "t", "severity": "major"}]
    ).findings
    assert said in " ".join(found.marks)


def read(folder, content):
    path = folder / "given.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return asyncio.run(FindingsDocument.open(path).analyze(TREE, None))


@pytest.mark.parametrize(
    "content",
    ["", "   \n", "All good, I found nothing to complain about.", "<html><body>502 Bad Gateway</body></html>", "Error: quota exceeded", '{"error": "rate limit"}', '[{"title": "cut o'],
)  # fmt: skip
def test_a_file_that_is_no_report_is_refused_and_never_clean(tmp_path, content):
    with pytest.raises(UsageError):
        read(tmp_path, content)


def test_a_finding_about_a_rate_limit_is_a_finding(tmp_path):
    said = [
        {
            "file": "src/a.py",
            "line": 3,
            "title": "No rate limit: quota exceeded errors are swallowed",
            "severity": "high",
        }
    ]
    analysis = read(tmp_path, said)
    assert analysis.failed == ""
    assert [found.title for found in analysis.findings] == [
        "No rate limit: quota exceeded errors are swallowed"
    ]


def test_ten_thousand_findings_become_items_in_seconds(make_bench):
    dice = Random(1)
    found = [
        finding(
            n,
            f"src/{dice.randrange(50)}.py",
            dice.randrange(1, 900),
            source=dice.choice(["ada", "bob"]),
            title=f"Claim about thing_{n}",
        )
        for n in range(10_000)
    ]
    bench = make_bench({})
    documents(bench, *found)
    began = time.process_time()
    run = bench.run("steps: [review, consolidate, {report: {file: none}}]")
    assert time.process_time() - began < 20
    assert run.reviewing.reported == 10_000
    assert bench.audit(run.id).ok
    assert {item.status for item in run.items.values()} == {Status.OPEN}
