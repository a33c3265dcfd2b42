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


def test_the_wheel_works_where_only_it_and_what_it_needs_is_installed(
    built, tmp_path, monkeypatch, on_path
):
    cache = {"UV_CACHE_DIR": str(machine.HOME / ".cache" / "uv")}
    for name, value in (cache | machine.registry_settings()).items():
        monkeypatch.setenv(name, value)
    if not release_check.UV.exists():
        on_path("uv")
    try:
        punchlist = release_check.make_environment(
            tmp_path / "env", Path(sys.executable), f"{built['wheel']}[web]", "--offline"
        )
    except SystemExit as error:
        miss(f"NOT TESTED: what the wheel needs cannot be installed: {error}")
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
