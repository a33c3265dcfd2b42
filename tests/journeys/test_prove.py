"""Proofs travel: another user in a second clone, with only the exported evidence, executes them again."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import pytest
from tampers import hashed
from test_proven_agents import CLEAN, PRIVATE, TWO, with_test
from workbench import Workbench, homes, review, scores

import punchlist
from needs import miss

SOURCE = Path(punchlist.__file__).parents[1]
SCHEMA = json.loads(
    (Path(__file__).parents[1] / "data" / "in-toto" / "test-result.schema.json").read_text()
)
CHECK = '[[checks]]\nname = "tests"\ncommand = ["{}", "-m", "unittest"]\nkind = "unittest"\n'
NOBODY = 65534


class Stranger:
    """Another user with a clone, a home and a state folder of their own; as root, another uid."""

    def __init__(self, folder: Path, origin: Path, branch: str) -> None:
        self.folder, self.clone = folder, folder / "clone"
        folder.mkdir()
        self.python = _find_python()
        run = ["git", "clone", "--quiet", "--branch", branch, str(origin), str(self.clone)]
        subprocess.run(run, check=True)
        (folder / "home").mkdir()
        packages = [each for each in sys.path if each.endswith("site-packages")]
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.env = {
            "HOME": str(folder / "home"),
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([str(SOURCE), *packages]),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Bob" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "bob@example.org" for who in ("AUTHOR", "COMMITTER")},
        }

    def git(self, *arguments: str) -> str:
        return self._start(["git", *arguments]).stdout

    def prove(self, *arguments: str, code: int) -> dict:
        ran = self._start([self.python, "-m", "punchlist", "prove", *arguments, "--json"])
        assert ran.returncode == code, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    def write(self, name: str, text: str) -> str:
        path = self.folder / "home" / name
        path.write_text(text)
        return str(path)

    def _start(self, command: list[str]) -> subprocess.CompletedProcess:
        if os.geteuid() == 0:
            for below, folders, files in os.walk(self.folder):
                for each in (below, *(str(Path(below, name)) for name in folders + files)):
                    os.chown(each, NOBODY, NOBODY, follow_symlinks=False)
            drop = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            command = ["setpriv", *drop, *command]
        return subprocess.run(
            command, cwd=self.clone, env=self.env, capture_output=True, text=True, check=False
        )


def _find_python() -> str:
    """A Python that an ordinary user can start: ours, or the system's of the same version."""
    if os.geteuid() != 0:
        return sys.executable
    found = f"/usr/bin/python3.{sys.version_info.minor}"
    return found if Path(found).exists() else miss(f"NOT TESTED: there is no {found}")


@pytest.fixture
def open_folder():
    """A folder that every user can reach."""
    folder = Path(tempfile.gettempdir()) / f"punchlist-prove-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def finished(shared_repo, tmp_path_factory):
    """A repository with a commit that has every class of proof, that commit's branch, and its evidence; never changed."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        homes(folder, patch)
        bench = Workbench(shared_repo, folder)
        bench.play(
            review("mean", times=1), CLEAN, PRIVATE, with_test(), scores(F001=95), agents=TWO
        )
        run = bench.run()
        assert bench.type("export", "--to", str(folder / "evidence.jsonl")).code == 0
    return shared_repo.root, run.landing.branch, (folder / "evidence.jsonl").read_bytes()


@pytest.fixture
def proven(finished, open_folder):
    """A stranger with a clone, and a copy of the evidence."""
    made, branch, content = finished
    origin = open_folder / "origin"
    shutil.copytree(made, origin)
    stranger = Stranger(open_folder / "stranger", origin, branch)
    evidence = open_folder / "stranger" / "evidence.jsonl"
    evidence.write_bytes(content)
    settings = stranger.write("settings.toml", CHECK.format(stranger.python))
    stranger.env["PUNCHLIST_CONFIG"] = settings
    return stranger, evidence


def verdicts(report: dict) -> dict[str, str]:
    (commit,) = report["commits"]
    return {claim["claim"]: claim["verdict"] for claim in commit["claims"]}


def rechain(lines: list[dict]) -> list[bytes]:
    prev, made = "", []
    for entry in lines:
        made.append(hashed({**entry, "prev": prev}))
        prev = json.loads(made[-1])["hash"]
    return made


def test_every_class_of_proof_is_executed_again_and_the_attestation_is_signed(proven):
    stranger, evidence = proven
    key = stranger.folder / "home" / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
    envelope = stranger.folder / "home" / "proof.dsse.json"
    report = stranger.prove(
        "--evidence", str(evidence), "--attest", str(envelope), "--key", str(key), code=0
    )
    assert verdicts(report) == {
        "reproduced": "agree",
        "witnessed": "agree",
        "checked": "agree",
        "reviewed": "cannot tell",
        "claim": "cannot tell",
    }
    assert report["verdict"] == "agree"
    signed = json.loads(envelope.read_bytes())
    payload = base64.b64decode(signed["payload"])
    statement = json.loads(payload)
    jsonschema.validate(statement, SCHEMA)
    assert statement["predicate"]["result"] == "PASSED"
    assert len(statement["predicate"]["passedTests"]) == 3
    assert (
        statement["subject"][0]["digest"]["gitCommit"] == stranger.git("rev-parse", "HEAD").strip()
    )
    kind = signed["payloadType"]
    (stranger.folder / "signed").write_bytes(
        f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    )
    (stranger.folder / "sig").write_bytes(base64.b64decode(signed["signatures"][0]["sig"]))
    check = ["openssl", "pkeyutl", "-verify", "-rawin", "-inkey", key, "-sigfile"]
    check += [stranger.folder / "sig", "-in", stranger.folder / "signed"]
    assert subprocess.run(check, check=False, capture_output=True).returncode == 0


def test_without_the_users_consent_no_check_is_run(proven):
    stranger, evidence = proven
    del stranger.env["PUNCHLIST_CONFIG"]
    report = stranger.prove("--evidence", str(evidence), code=3)
    assert set(verdicts(report).values()) == {"cannot tell"}
    plain = stranger.folder / "home" / "plain.json"
    stranger.prove("--evidence", str(evidence), "--attest", str(plain), code=3)
    statement = json.loads(plain.read_bytes())
    jsonschema.validate(statement, SCHEMA)
    assert (statement["predicate"]["result"], statement["predicate"]["passedTests"]) == (
        "WARNED",
        [],
    )


def test_what_was_altered_does_not_pass(proven):
    stranger, evidence = proven
    original = stranger.git("rev-parse", "HEAD").strip()
    lines = [json.loads(line) for line in evidence.read_bytes().splitlines()]
    given = ("--evidence", str(evidence))

    def write(made: list[bytes]) -> None:
        evidence.write_bytes(b"\n".join(made) + b"\n")

    at = next(n for n, line in enumerate(lines) if line["event"]["kind"] == "reproduced")
    changed = json.loads(json.dumps(lines))
    changed[at]["event"]["content"] += "\n# another test\n"
    write([json.dumps(each).encode() for each in changed])
    assert "altered" in stranger.prove(*given, code=1)["commits"][0]["said"]
    write(rechain(changed))
    assert "no entry has the hash" in stranger.prove(*given, code=1)["commits"][0]["said"]
    write(rechain(lines[: at + 1]))
    stranger.prove(*given, code=1)
    tail = json.loads(json.dumps(lines))
    moves = next(each["event"]["moves"] for each in tail if each["event"]["kind"] == "committed")
    moves[0]["proofs"] = moves[0]["proofs"][:1]
    write(rechain(tail))
    assert "trailers claim something else" in stranger.prove(*given, code=1)["commits"][0]["said"]
    write(rechain(lines))
    message = stranger.git("log", "-1", "--format=%B")
    stranger.write("message", message.replace("1 reproduced witnessed", "1 witnessed"))
    stranger.git("commit", "--quiet", "--amend", "--file", stranger.folder / "home" / "message")
    assert "knows no such commit" in stranger.prove(*given, code=3)["commits"][0]["said"]
    stranger.git("reset", "--quiet", "--hard", original)
    prices = stranger.clone / "shop" / "prices.py"
    prices.write_text(prices.read_text() + "\n\nBACK = 'door'\n")
    stranger.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    assert "knows no such commit" in stranger.prove(*given, code=3)["commits"][0]["said"]


def test_an_altered_diff_whose_evidence_was_made_to_fit_is_judged_by_what_it_does(proven):
    """Whoever writes commit and evidence anew can make them fit; only the executed claims count then."""
    stranger, evidence = proven
    original = stranger.git("rev-parse", "HEAD").strip()
    prices = stranger.clone / "shop" / "prices.py"
    prices.write_text(prices.read_text().replace(" if prices else None", ""))
    stranger.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    altered = stranger.git("rev-parse", "HEAD").strip()
    text = evidence.read_text().replace(original, altered)
    evidence.write_bytes(b"\n".join(rechain([json.loads(each) for each in text.splitlines()])))
    report = stranger.prove("--evidence", str(evidence), code=1)
    assert verdicts(report)["reproduced"] == verdicts(report)["witnessed"] == "disagree"


def test_evidence_makes_no_command_run_that_is_not_from_here(proven):
    stranger, evidence = proven
    planted = stranger.folder / "home" / "planted"
    lines = [json.loads(each) for each in evidence.read_bytes().splitlines()]
    command = ["/bin/sh", "-c", f"touch {planted}"]
    started = lines[0]["event"]
    started["checks"] = [{"name": "tests", "command": command}]
    settings = json.loads(started["settings"])
    settings["settings"]["analyzers"] = {"custom": [{"name": "own", "command": command}]}
    settings["settings"]["checks"] = [{"name": "tests", "command": command}]
    started["settings"], started["reviewers"] = json.dumps(settings), ["own", "ruff"]
    known = stranger.git("log", "-1", "--format=%(trailers:key=Punchlist-Ledger,valueonly)").strip()
    at = next(n for n, each in enumerate(lines) if each["hash"] == known)
    message = stranger.git("log", "-1", "--format=%B")
    head = json.loads(rechain(lines)[at])["hash"]
    stranger.write("message", message.replace(known, head))
    old = stranger.git("rev-parse", "HEAD").strip()
    stranger.git("commit", "--quiet", "--amend", "--file", stranger.folder / "home" / "message")
    new = stranger.git("rev-parse", "HEAD").strip()
    text = json.dumps(lines[at + 1 :]).replace(old, new)
    made = rechain([*lines[: at + 1], *json.loads(text)])
    evidence.write_bytes(b"\n".join(made) + b"\n")
    report = stranger.prove("--evidence", str(evidence), "--yes", code=0)
    assert verdicts(report)["checked"] == "agree"
    assert not planted.exists()


def test_the_commits_of_the_demo_are_proven_with_their_notes(open_folder):
    env = {**os.environ, "PUNCHLIST_HOME": str(open_folder / "state"), "PYTHONPATH": str(SOURCE)}

    def start(*command: str, cwd: Path) -> str:
        return subprocess.run(
            command, cwd=cwd, env=env, check=False, capture_output=True, text=True
        ).stdout.strip()

    own = (sys.executable, "-m", "punchlist")
    start(*own, "demo", "--folder", "demo", cwd=open_folder)
    origin = open_folder / "demo" / "stockroom"
    assert "noted" in start(*own, "export", "--note", cwd=origin)
    refs = ("for-each-ref", "--format=%(refname:short)", "refs/heads/punchlist")
    branch = start("git", *refs, cwd=origin)
    stranger = Stranger(open_folder / "stranger", origin, branch)
    notes = "refs/notes/punchlist:refs/notes/punchlist"
    start("git", "fetch", "--quiet", str(origin), notes, cwd=stranger.clone)
    report = stranger.prove(f"{branch}~7..{branch}", "--yes", code=0)
    assert len(report["commits"]) == 7
    assert {claim["verdict"] for each in report["commits"] for claim in each["claims"]} == {"agree"}
    assert {each["verdict"] for each in report["commits"]} == {"agree"}
