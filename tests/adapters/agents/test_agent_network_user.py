"""The real agents behind the egress proxy as an ordinary user: root runs the tests of the proxy as another one, with a home of its own."""

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import npm
from needs import miss, rarely

TESTS = Path(__file__).with_name("test_agent_network.py")
PYTHON = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
OTHER = 65534
BECOME = """
mount --bind "$1" "$2" && shift 2 &&
exec setpriv --reuid {user} --regid {user} --clear-groups "$@"
"""
"""The agents lie in root's home, which the other user cannot read; in a mount namespace they also lie elsewhere."""


@pytest.fixture
def run_as_other():
    """Runs tests as the other user, in folders of its own."""
    if os.getuid() != 0 or not Path(PYTHON).exists() or not shutil.which("setpriv"):
        pytest.skip("NOT TESTED HERE: only root, with the system's Python, can become another user")
    world = Path("/var/lib", f"punchlist-test-{secrets.token_hex(4)}")
    for name in ("home", "tmp", "agents"):
        (world / name).mkdir(parents=True)
        os.chown(world / name, OTHER, OTHER)
    installed = Path(npm.installed(npm.MANIFESTS[0])[0]).parents[1]
    env = {
        "HOME": str(world / "home"),
        "TMPDIR": str(world / "tmp"),
        "TEST_AGENTS": str(world / "agents"),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOAK": "1",
    }

    def run(*words):
        apart = ["unshare", "--mount", "sh", "-c", BECOME.format(user=OTHER), "sh"]
        tests = [PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "-m", "", str(TESTS), *words]
        line = [*apart, str(installed), str(world / "agents"), *tests]
        done = subprocess.run(
            line,
            env=env,
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=False,
        )
        if "mount: " in done.stderr or "unshare: " in done.stderr:
            miss(f"NOT TESTED HERE: {done.stderr.strip()}")
        return done

    yield run
    shutil.rmtree(world)


@pytest.mark.parametrize(
    ("kind", "tests", "passing"),
    [
        ("claude", "without_its_key", 1),
        *rarely(*((kind, "", 6) for kind in ("claude", "codex", "gemini", "opencode"))),
    ],
)
def test_an_agent_of_an_ordinary_user_works_behind_the_proxy(run_as_other, kind, tests, passing):
    done = run_as_other("-k", f"{kind} and {tests}" if tests else kind)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert f"{passing} passed" in done.stdout
