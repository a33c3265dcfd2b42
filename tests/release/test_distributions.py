"""What users install: the wheel has all that it needs and nothing else, and works where only it is installed."""

import email
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import release_check

import machine
from needs import miss
from punchlist._version import __version__


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    return release_check.build(
        release_check.ROOT, tmp_path_factory.mktemp("dist"), "wheel", "sdist"
    )


@pytest.fixture(scope="module")
def wheel(built) -> dict[str, bytes]:
    return release_check.read_wheel(built["wheel"])


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"],
        cwd=release_check.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    package = {line.removeprefix("src/") for line in listed.stdout.splitlines()}
    assert {name for name in wheel if ".dist-info/" not in name} == package


def test_the_sdist_builds_the_same_wheel(built, wheel, tmp_path):
    source = release_check.unpack_sdist(built["sdist"], tmp_path / "source")
    again = release_check.build(source, tmp_path / "dist", "wheel")["wheel"]
    assert release_check.read_wheel(again) == wheel


def test_the_metadata_says_what_it_is(wheel):
    info = f"punchlist-{__version__}.dist-info"
    about = email.message_from_bytes(wheel[f"{info}/METADATA"])
    assert about["Version"] == __version__
    assert about["License-Expression"] == "Apache-2.0"
    assert about["License-File"] == "LICENSE"
    assert f"{info}/licenses/LICENSE" in wheel
    project = tomllib.loads((release_check.ROOT / "pyproject.toml").read_text())["project"]
    extras = {*project["optional-dependencies"]} - {"all"}
    assert {*about.get_all("Provides-Extra")} == {*extras, "all"}
    (everything,) = project["optional-dependencies"]["all"]
    assert {*everything.removeprefix("punchlist[").removesuffix("]").split(",")} == extras


def test_the_changelog_has_a_heading_for_this_version():
    text = (release_check.ROOT / "CHANGELOG.md").read_text()
    assert f"\n## {__version__}" in text


@pytest.fixture
def install(built, tmp_path, monkeypatch, on_path):
    """Install the wheel with some extras, with uv if it has what that needs; return its command."""
    cache = {"UV_CACHE_DIR": str(machine.HOME / ".cache" / "uv")}
    for name, value in (cache | machine.registry_settings()).items():
        monkeypatch.setenv(name, value)
    if not release_check.UV.exists():
        on_path("uv")

    def make(extras, *options):
        wheel = f"{built['wheel']}{extras}"
        python = Path(sys.executable)
        try:
            return release_check.make_environment(
                tmp_path / "env", python, wheel, "--offline", *options
            )
        except SystemExit as error:
            miss(f"NOT TESTED: what the wheel needs cannot be installed: {error}")

    return make


def test_an_installation_without_extras_is_as_small_as_users_were_told(install):
    punchlist = install("", "--compile-bytecode")
    told = release_check.weigh(punchlist.parents[1])
    packages = set(told.rpartition(": ")[2].split(", "))
    assert {"punchlist", "ruff", "msgspec", "click"} <= packages
    assert packages.isdisjoint({"rich", "pygments", "bandit", "textual"})


def test_an_installation_that_has_grown_is_refused(tmp_path):
    packages = tmp_path / "lib/python3.11/site-packages"
    (packages / "big-1.0.dist-info").mkdir(parents=True)
    (packages / "pip").mkdir()
    (packages / "pip/pip.bin").write_bytes(b"x" * 70_000_000)
    assert release_check.weigh(tmp_path) == "0 MB, 1 packages: big"
    (packages / "big.bin").write_bytes(b"x" * 61_000_000)
    with pytest.raises(SystemExit, match="61 MB, 1 packages: big"):
        release_check.weigh(tmp_path)


def test_the_wheel_works_where_only_it_and_what_it_needs_is_installed(install, tmp_path):
    punchlist = install("[web]")
    used = list(release_check.use(punchlist, tmp_path / "use", demo=False))
    assert used == [f"punchlist {__version__}", "doctor", "review", "fix", "serve"]
    listed = subprocess.run(
        [punchlist.with_name("python"), "-c", "import punchlist; print(punchlist.__file__)"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(listed.stdout.strip()).is_relative_to(tmp_path / "env")
