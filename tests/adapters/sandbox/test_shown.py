"""What is shown to children: by which names files count as secret, what programs need, which git settings stay."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from punchlist.adapters.sandbox.git_view import clean_config
from punchlist.adapters.sandbox.installations import find_installations, find_path_installations
from punchlist.adapters.sandbox.secret_files import find_secret_files, is_secret_name


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", ".env-prod", ".env_test", ".ENV", ".envrc", "prod.env", ".npmrc", ".pypirc", ".netrc", "_netrc", "id_rsa"],
)  # fmt: skip
def test_names_of_files_with_keys(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [".env.example", ".env.sample", ".env.template", ".env.dist", "example.env", ".environment", "env.py", ".env.d.ts", "a.py", "id_rsa.pub"],
)  # fmt: skip
def test_names_of_templates_and_code(name):
    assert not is_secret_name(name)


def test_secret_files_are_found_at_every_depth_and_behind_links_but_no_environment(tmp_path):
    for name in (
        "a/b/.env",
        "real.txt",
        "c/.env.example",
        "node_modules/x/.env",
        "v/.env/pyvenv.cfg",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".env.local").symlink_to("real.txt")
    (tmp_path / ".env.out").symlink_to("/etc/passwd")
    assert set(find_secret_files(tmp_path)) == {tmp_path / "a/b/.env", tmp_path / "real.txt"}
    assert find_secret_files(tmp_path, ["a/b/.env"]) == (
        tmp_path / "real.txt",
        tmp_path / "a/b/.env",
    )


def made(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_is_shown_with_what_it_is_made_of_and_no_home(tmp_path):
    home = tmp_path / "home"
    python = made(home, ".pyenv/versions/3.12/bin/python3")
    made(home, "tools/env/pyvenv.cfg", f"home = {python.parent}\n")
    script = made(home, "tools/env/bin/lint", "#!" + str(home / "tools/env/bin/python3") + "\n")
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/lint").symlink_to(script)
    shown = find_installations((str(home / ".local/bin/lint"),), "", (home,))
    assert set(shown) == {home / ".local/bin", home / "tools/env", home / ".pyenv/versions/3.12"}
    node = made(home, "prefix/lib/node_modules/agent/cli.js", "#!/usr/bin/env node\n")
    (home / "bin").mkdir()
    (home / "bin/agent").symlink_to(node)
    path = f"{home}/bin:{made(home, '.nvm/v20/bin/node').parent}"
    shown = set(find_path_installations(path, (home,)))
    assert shown == {home / "bin", home / "prefix/lib/node_modules", home / ".nvm/v20"}


@pytest.mark.parametrize(
    "where", ["home/agent", "home/bin/agent", "agent", "bin/agent", "home/project/bin/agent"]
)
def test_neither_home_nor_checkout_nor_a_folder_around_them_is_an_installation(tmp_path, where):
    home = tmp_path / "home"
    (home / "project/.git").mkdir(parents=True)
    program = made(tmp_path, where)
    for shown in find_installations((str(program),), "", (home,)):
        assert shown in (program, program.parent)


def test_of_gits_settings_only_those_stay_that_say_how_to_read_the_repository():
    text = (
        "[core]\n\tbare = false\n\tfsmonitor = evil\n\thooksPath = evil\n\tsshCommand = evil\n"
        '[remote "origin"]\n\turl = https://x:token@h/x\n[extensions]\n\tobjectFormat = sha256\n'
        '[filter "x"]\n\tclean = evil\n[include]\n\tpath = evil\n[http]\n\textraHeader = token\n'
        "[core]\n\tignorecase = true; token\n"
    )
    kept = clean_config(text).decode()
    assert "evil" not in kept
    assert "token" not in kept
    assert "bare = false" in kept
    assert "objectformat = sha256" in kept


SCAN = """
import sys
from pathlib import Path
from punchlist.adapters.agents.home import copy_login
from punchlist.adapters.sandbox import home_view, installations
world = Path(sys.argv[1])
home, closed = world / "home", world / "closed"
path = f"{world}/bin:{closed}/bin:{world}/unlisted"
private = (home,)
found = installations.find_path_installations(path, private)
found += installations.find_installations((f"{world}/bin/tool", f"{closed}/bin/x.py"), path, private)
found += installations.find_named_files((f"{closed}/settings", f"--x={closed}/y"), private)
found += home_view.find_toolchains(closed) + home_view.find_toolchains(home)
found += home_view.find_certificates({"SSL_CERT_FILE": f"{closed}/ca.pem"})
copy_login(("x", "bin/x.py"), closed, home)
print(*(each.relative_to(world) for each in found if each.is_relative_to(world)))
"""


def test_what_this_user_cannot_reach_is_left_out_and_ends_nothing():
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="punchlist-test-") as made_folder:
        world = Path(made_folder)
        world.chmod(0o755)
        made(world, "closed/bin/x.py", "#!/usr/bin/python3\n")
        made(world, "bin/tool", "#!/bin/sh\n")
        made(world, "unlisted/tool", "#!/bin/sh\n")
        (world / "home").mkdir()
        (world / "bin/linked").symlink_to(world / "closed/bin/x.py")
        (world / "bin/looped").symlink_to("looped")
        (world / "home/.pyenv").symlink_to(world / "closed/bin")
        for name, mode in (("closed", 0), ("unlisted", 0o711)):
            (world / name).chmod(mode)
        other = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        done = subprocess.run(
            [f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}", "-c", SCAN, str(world)],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(world / "home")},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **other,
        )
        (world / "closed").chmod(0o755)
    assert done.stderr == ""
    assert set(done.stdout.split()) == {"bin", "unlisted"}


@pytest.mark.parametrize("key", ["home", "executable", "base-executable"])
def test_a_file_of_an_environment_does_not_open_folders_without_an_interpreter(tmp_path, key):
    letters = made(tmp_path, "letters/bin/private.txt").parent
    value = letters if key == "home" else letters / "private.txt"
    made(tmp_path, "env/pyvenv.cfg", f"{key} = {value}\n")
    program = made(tmp_path, "env/bin/python")
    shown = find_installations([str(program)], "/usr/bin", (tmp_path / "home",))
    assert shown == (tmp_path / "env",)
