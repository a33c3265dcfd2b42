"""What is shown to children: by which names files count as secret, what programs need, which git settings stay."""

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
