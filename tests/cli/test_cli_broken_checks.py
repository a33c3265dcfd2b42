"""A check whose tests cannot be imported judges nothing, and the summary begins with the cause and what to do."""

import json

CODE = """\
import {module}
import os


def slug(text, separator=None):
    if separator == None:
        separator = "-"
    return {module}.fold(text).replace(" ", separator)
"""
TEST = "from slugs import slug\n\n\ndef test_slug():\n    assert slug('a b') == 'a-b'\n"
RUFF = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=F,E7")


def test_where_the_tests_cannot_be_imported_nothing_is_checked_and_no_unsafe_fix_lands(
    repo, make_punchlist
):
    code = CODE.format(module="text_folding_not_installed")
    repo.commit({"slugs.py": code, "test_slugs.py": TEST})
    punchlist = make_punchlist(repo.root)
    ran = punchlist("run", "--all", "--yes", *RUFF)
    said = " ".join(ran.stdout.split())
    first = said.partition(" Fixed ")[0]
    assert "pytest could not judge: no test passed on the base (1 could not be loaded)" in first
    assert "No module named 'text_folding_not_installed'; the Python used is /" in first
    assert "Next: punchlist setup makes an environment for it outside your checkout" in said
    shown = said + " ".join((ran.stderr + punchlist("show").stdout).split())
    assert shown.count("text_folding_not_installed") == 2, "the cause stands in the log once, too"
    assert "not applied: pytest could not judge" in said
    report = json.loads(punchlist("status", "--json").stdout)["report"]
    kinds = {proof["kind"] for item in report["items"] for proof in item["proofs"]}
    assert kinds == {"rechecked"}, "the safe fix alone, on the analyzer's word"
    assert {item["findings"][0]["rule"]: item["status"] for item in report["items"]} == {
        "F401": "fixed",
        "E711": "filed",
    }
    assert ran.returncode == 3
