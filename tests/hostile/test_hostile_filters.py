"""Programs that the repository's own git configuration names: none is run, and nothing is written in their stead."""

import os

import pytest
from hostile_ground import RUFF

BAD = "import os\n\nprint(1)\n"


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "ran"


def hostile(
    repo, marker, name: str, *, attributes: str = "*.py filter={} diff={} merge={}\n"
) -> None:
    """Configuration as a copied repository may bring it along, for every kind of program."""
    program = f"touch '{marker}' #"
    copy = f"touch '{marker}'; cat"
    for key, value in {
        f"filter.{name}.clean": copy,
        f"filter.{name}.smudge": copy,
        f"filter.{name}.process": program,
        f"filter.{name}.required": "true",
        f"diff.{name}.textconv": program,
        f"diff.{name}.command": program,
        f"merge.{name}.driver": program,
        "diff.external": program,
        "log.showSignature": "true",
        "merge.verifySignatures": "false",
        "gpg.program": str(marker.with_name("gpg")),
        "core.fsmonitor": program,
        "core.alternateRefsCommand": program,
    }.items():
        repo.git("config", key, value)
    gpg = marker.with_name("gpg")
    gpg.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    gpg.chmod(0o755)
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/attributes").write_text(attributes.format(name, name, name))


def touch_all(repo) -> None:
    """So that git looks at the files themselves."""
    for path in repo.root.glob("*.py"):
        os.utime(path, (1, 1))


@pytest.mark.parametrize("name", ["evil", "lfs", "a.b", "a=b", "Ünï"])
def test_filters_of_the_repository_run_on_no_command(repo, ground, marker, name):
    repo.commit({"a.py": BAD, "b.txt": "x\n"})
    hostile(repo, marker, name)
    for arguments in (
        ("review", "--all", *RUFF),
        ("run", "--all", "--no-checks", *RUFF),
        ("status",),
        ("show",),
        ("apply",),
        ("run", "--staged", "--no-checks", *RUFF),
        ("list",),
    ):
        touch_all(repo)
        told = ground(*arguments)
        assert "Traceback" not in told.stdout + told.stderr
        assert not marker.exists(), arguments


def test_what_a_filter_would_have_to_write_is_left_to_the_user(repo, ground, marker):
    repo.commit({"a.py": BAD})
    assert ground.review().code == 0
    hostile(repo, marker, "evil")
    told = ground("apply")
    assert told.code != 0
    assert "a filter of the repository's .git/config would run for a.py" in told.error
    assert "git merge punchlist/" in told.error
    assert (repo.root / "a.py").read_text() == BAD


def test_a_filter_of_the_users_own_configuration_goes_on_working(repo, ground, tmp_path):
    """As Git LFS is installed: what is stored is not what lies in the checkout."""
    config = tmp_path / ".gitconfig"
    config.write_text(
        '[filter "rot"]\n\tclean = tr a-zA-Z n-za-mN-ZA-M\n\tsmudge = tr a-zA-Z n-za-mN-ZA-M\n\trequired = true\n'
    )
    env = {"HOME": str(tmp_path)}
    repo.commit({"a.py": BAD, ".gitattributes": "*.bin filter=rot\n"})
    (repo.root / "big.bin").write_text("hello\n")
    own = ("-c", "filter.rot.clean=tr a-zA-Z n-za-mN-ZA-M")
    repo.git(*own, "add", "big.bin")
    repo.git(*own, "commit", "--quiet", "-m", "big")
    assert repo.git("show", "HEAD:big.bin").strip() == "uryyb"
    assert ground.review(**env).code == 0
    os.utime(repo.root / "big.bin", (1, 1))
    told = ground("apply", **env)
    assert told.code == 0, told.stderr
    assert "import os" not in (repo.root / "a.py").read_text()
    assert (repo.root / "big.bin").read_text() == "hello\n"
