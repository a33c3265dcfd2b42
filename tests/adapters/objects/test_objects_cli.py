"""The command line works with files of runs in an object store."""

import json
import os
import subprocess
import sys

import pytest

from s3_server import KEYS, run_s3


@pytest.fixture(scope="module")
def s3():
    with run_s3() as server:
        yield server


@pytest.fixture
def env(s3, tmp_path):
    return {
        **os.environ,
        **s3.keys,
        "PUNCHLIST_HOME": str(tmp_path / "home"),
        "PUNCHLIST_STORE": f"sqlite:{tmp_path / 'ledger'}",
        "PUNCHLIST_OBJECTS": f"s3://objects/{tmp_path.name}",
    }


@pytest.fixture
def start(repo, env):
    repo.commit({"a.py": "import os\n"})

    def start(*words, **more):
        command = [sys.executable, "-m", "punchlist", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=repo.root, env={**env, **more}, text=True, **pipes)

    return start


@pytest.fixture
def punchlist(start):
    def run(*words, code=0, **more):
        process = start(*words, **more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, out + err
        return err if code > 1 else out

    return run


def test_documents_and_reports_are_in_the_store_for_every_machine_until_they_are_old(
    punchlist, tmp_path, env
):
    findings = tmp_path / "given.json"
    findings.write_text('[{"title": "wrong", "file_path": "a.py", "line": 1}]')
    punchlist("review", "--all", "--findings", str(findings), code=1)
    lines = punchlist("audit", "--export", "-", PUNCHLIST_HOME=str(tmp_path / "elsewhere"))
    started = json.loads(lines.splitlines()[0])["event"]
    assert env["PUNCHLIST_OBJECTS"] not in started["settings"]
    for secret in (KEYS["AWS_SECRET_ACCESS_KEY"], env["AWS_ENDPOINT_URL"]):
        assert secret not in lines
    (run,) = json.loads(punchlist("list", "--json"))
    files = sorted(path.name for path in (tmp_path / "home" / "runs" / run["run"]).glob("*"))
    assert not [name for name in files if name.startswith(("report", "findings"))]
    elsewhere = {"PUNCHLIST_HOME": str(tmp_path / "elsewhere")}
    assert json.loads(punchlist("audit", "--json", **elsewhere))["ok"]
    assert "the same" in punchlist("replay", run["run"], **elsewhere)
    cleaned = punchlist("clean", "--reports", "--older-than", "0", **elsewhere)
    assert f"removed the reports of 1 run: {run['run']}" in cleaned
    assert "removed the reports" not in punchlist(
        "clean", "--reports", "--older-than", "0", **elsewhere
    )


def test_a_store_that_is_away_is_told_and_waited_for(start, s3):
    s3.stop()
    started = False
    try:
        process = start("review", "--all")
        said = ""
        for line in process.stderr:
            said += line
            if "does not answer" in line and not started:
                started = True
                s3.start()
        out = process.stdout.read()
        process.stdout.close()
        process.stderr.close()
        assert process.wait(timeout=60) == 1, said + out
        assert "waiting     s3://objects/" in said
        assert "answers again" in said
    finally:
        if not started:
            s3.start()


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ("ftp://files/x", "ftp is no kind of object store"),
        ("here/there", "a relative path is no kind"),
        ("s3://", "names no place"),
        ("file://host/x", "names no place"),
        ("s3://me:hidden@bucket/x", "credentials belong into the environment"),
        ("az://box/x?sig=hidden", "credentials belong into the environment"),
    ],
)
def test_an_address_that_is_none_is_refused_and_no_secret_in_it_repeated(punchlist, objects, said):
    refused = punchlist("review", "--all", code=6, PUNCHLIST_OBJECTS=objects)
    assert said in refused
    assert "hidden" not in refused


def test_a_repository_cannot_say_where_the_files_go(punchlist, repo, tmp_path, env):
    repo.commit({".punchlist.toml": f'objects = "{tmp_path}/theirs"\n'})
    del env["PUNCHLIST_OBJECTS"]
    punchlist("run", "--all", "--yes")
    assert not (tmp_path / "theirs").exists()
    assert list(tmp_path.glob("home/runs/*/report.json"))


def test_without_the_setting_the_library_is_not_loaded(repo, env):
    repo.commit({"a.py": "import os\n"})
    code = (
        "import sys; from punchlist.cli import main\n"
        "try: main(['review', '--all'])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if 'obstore' in name])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repo.root,
        env={**env, "PUNCHLIST_OBJECTS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.endswith("[]\n"), ran.stdout
