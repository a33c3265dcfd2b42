"""Results of runs are kept in a folder or in an S3 bucket, for as many days as the settings say."""

import os
import sys
import time

import pytest

from punchlist.adapters.results.folder import FolderResults
from punchlist.app.start.results import make_results
from punchlist.errors import SettingsError
from punchlist.installed import extra_hint
from punchlist.settings import KeepSettings
from s3_server import KEYS, run_s3

DAY = 86400


@pytest.fixture(scope="module")
def bucket():
    """The settings of a bucket on a real S3 server on loopback."""
    with run_s3() as server:
        yield KeepSettings(to="s3://results/fix-todos", endpoint=server.endpoint)


def test_a_bucket_keeps_files_by_run_and_gives_them_back(bucket, monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    store = make_results(bucket)
    store.put("261115-0a1b2c", "plan/fix_todo_F001.json", b"{}")
    store.put("261115-0a1b2c", "report.json", b"[]")
    store.put("ours", "notes.txt", b"not of a run")
    assert store.list_names("261115-0a1b2c") == {"plan/fix_todo_F001.json", "report.json"}
    (written,) = store.list_runs().values()
    assert abs(written - time.time()) < DAY
    store.remove("261115-0a1b2c")
    assert (store.list_runs(), store.list_names("ours")) == ({}, {"notes.txt"})


def test_the_results_of_a_run_are_in_the_bucket_until_they_are_old(punchlist, bucket, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'analyzers.enabled = ["ruff"]\n[keep]\nto = "{bucket.to}"\nendpoint = "{bucket.endpoint}"\n'
    )
    punchlist.env |= {"PUNCHLIST_CONFIG": str(settings), **KEYS}
    said = punchlist.json("review", "--all")
    run = said["report"]["run"]["id"]
    assert not [gap for gap in said["report"]["not_checked"] if "kept" in gap["what"]]
    assert "results" not in punchlist("clean").stdout, "ten days are not over"
    later = punchlist("clean", PUNCHLIST_KEEP__DAYS="0")
    assert f"removed the results of 1 run from {bucket.to}: {run}" in later.stdout, later
    assert "results" not in punchlist("clean", PUNCHLIST_KEEP__DAYS="0").stdout
    wrong = punchlist("clean", AWS_SECRET_ACCESS_KEY="another")
    assert (wrong.returncode, "old results were not removed" in wrong.stdout) == (0, True), wrong


def test_results_in_a_folder_go_after_ten_days_and_what_is_not_of_a_run_stays(punchlist, tmp_path):
    kept, settings = tmp_path / "kept", tmp_path / "settings.toml"
    (kept / "mine").mkdir(parents=True)
    (kept / "mine" / "letter.txt").write_text("do not touch")
    settings.write_text(f'analyzers.enabled = ["ruff"]\n[keep]\nto = "{kept}"\nlocal = false\n')
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    run = punchlist.json("run", "--all", "--no-checks")["report"]["run"]["id"]
    files = {path.relative_to(kept / run).as_posix() for path in (kept / run).rglob("*.*")}
    assert {"report.json", "report.md", "report.sarif"} <= files
    here = punchlist.home / "runs" / run
    assert (here / "report.json").read_bytes() == (kept / run / "report.json").read_bytes()
    assert not [path for path in here.iterdir() if path.is_dir()], "what is kept is not there twice"
    assert "results" not in punchlist("clean").stdout
    for path in (kept / run).rglob("*"):
        os.utime(path, times=(time.time() - 11 * DAY,) * 2)
    (kept / run / "plan").mkdir(exist_ok=True)
    assert f"removed the results of 1 run from {kept}: {run}" in punchlist("clean").stdout
    assert [path.name for path in kept.iterdir()] == ["mine"]


def test_results_that_cannot_be_kept_are_said_to_be_not_kept(punchlist, tmp_path):
    (tmp_path / "kept").write_text("a file is in the way")
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'analyzers.enabled = ["ruff"]\n[keep]\nto = "{tmp_path / "kept"}"\nlocal = false\n'
    )
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    ran = punchlist("review", "--all")
    assert "The results could not be kept at .../kept" in " ".join(ran.stdout.split())
    assert str(tmp_path / "kept") not in ran.stdout, "a summary is shown to others, too"


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("s3://", "names no bucket"),
        ("gs://bucket/x", "no place for results"),
        ("results", "no place for results"),
    ],
)
def test_a_place_that_is_none_is_refused_before_anything_starts(punchlist, to, why):
    ran = punchlist("review", "--all", "--set", f"keep.to={to}")
    assert ran.returncode == 6
    assert why in ran.stderr
    assert "s3://BUCKET/PREFIX" in ran.stderr
    assert punchlist.json("list") == []


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.delitem(sys.modules, "punchlist.adapters.results.bucket", raising=False)
    with pytest.raises(SettingsError, match="not installed") as raised:
        make_results(KeepSettings(to="s3://bucket/prefix"))
    assert raised.value.hint == extra_hint("s3")
    assert isinstance(make_results(KeepSettings(to="/srv/results")), FolderResults)


def test_a_repository_does_not_choose_where_results_go(repo, make_punchlist):
    repo.commit({".punchlist.toml": '[keep]\nto = "/tmp/elsewhere"\n', "a.py": "import os\n"})
    ran = make_punchlist(repo.root)("run", "--all", "--yes")
    assert ran.returncode == 6
    assert "a repository does not choose where results are kept" in ran.stderr
