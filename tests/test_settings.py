"""Settings lie layer over layer, and every value knows where it came from."""

import pytest

from punchlist.errors import SettingsError
from punchlist.settings import (
    decode_settings,
    encode_settings,
    home_folder,
    list_names,
    load_settings,
)


@pytest.fixture
def env(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


def user(env, text: str) -> str:
    from pathlib import Path

    path = Path(env["XDG_CONFIG_HOME"]) / "punchlist" / "settings.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


def test_each_layer_covers_the_one_below(env):
    path = user(
        env,
        'workflow = "user"\ndetect-checks = false\n[limits]\ntime = 1\nwidth = 1\ndollars = 1\n',
    )
    environment = {**env, "PUNCHLIST_LIMITS__TIME": "3", "PUNCHLIST_LIMITS__WIDTH": "3"}
    loaded = load_settings("[limits]\ntime = 2\ndollars = 2", {"limits.width": "4"}, environment)
    assert loaded.settings.workflow == "user"
    assert not loaded.settings.detect_checks
    assert (
        loaded.settings.limits.dollars,
        loaded.settings.limits.time,
        loaded.settings.limits.width,
    ) == (2, 3, 4)
    assert loaded.origins == {
        "workflow": path,
        "detect-checks": path,
        "limits.dollars": ".punchlist.toml",
        "limits.time": "environment PUNCHLIST_LIMITS__TIME",
        "limits.width": "--set limits.width",
    }


def test_lists_are_written_with_commas_on_the_command_line(env):
    settings = load_settings(
        None, {"analyzers.select": "E, F", "analyzers.enabled": "ruff"}, env
    ).settings
    assert settings.analyzers.select == ("E", "F")
    assert settings.analyzers.enabled == ("ruff",)
    assert (
        load_settings(None, {"analyzers.enabled": "auto"}, env).settings.analyzers.enabled == "auto"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'wokflow = "x"',
            '.punchlist.toml: wokflow: Object contains unknown field `wokflow`; did you mean "workflow"?',
        ),
        ('[limits]\ntime = "soon"', ".punchlist.toml: limits.time: Expected `float`"),
        ("[[checks]]\nname = 1", ".punchlist.toml: checks[0].name: Expected `str`"),
        ('[[checks]]\nname = "t"\ncommand = "make test"', "checks[0].command"),
        ("workflow =", ".punchlist.toml: not TOML"),
        (
            '[[checks]]\nname = "t"\ncommand = ["a"]\n[[checks]]\nname = "u"\ncommand = ["b"]\n[[checks]]\nname = "t"\ncommand = ["c", "d"]',
            ".punchlist.toml: checks[0] and checks[2] are both called 't': `a` and `c d`",
        ),
    ],
)
def test_a_mistake_says_where_and_what(env, text, said):
    with pytest.raises(SettingsError) as caught:
        load_settings(text, {}, env)
    assert said in str(caught.value)


def test_a_demanded_coverage_is_a_share_and_can_be_named_below_checks(env):
    for flags, environment in (
        ({"coverage": "80"}, env),
        ({"checks.coverage": "80"}, env),
        ({}, {**env, "PUNCHLIST_CHECKS__COVERAGE": "80"}),
    ):
        user(env, '[[checks]]\nname = "t"\ncommand = ["a"]\n')
        loaded = load_settings(None, flags, environment)
        assert (loaded.settings.coverage, len(loaded.settings.checks)) == (80, 1)
    assert load_settings("[checks]\ncoverage = 72.5", {}, env).settings.coverage == 72.5
    for wrong in ("120", "-1", "most"):
        with pytest.raises(SettingsError, match="--set coverage: coverage: Expected `float`"):
            load_settings(None, {"coverage": wrong}, env)


def test_a_pattern_of_commit_messages_names_only_what_there_is(env):
    good = {"commit-subject": "fix: round {round} of {story} - {title} ({items})"}
    assert load_settings(None, good, env).settings.commit_subject == good["commit-subject"]
    for wrong in ("{rounds}", "{title.__class__}", "{", "}", "{}", "a\nb"):
        with pytest.raises(SettingsError, match="--set commit-subject: commit-subject: ") as caught:
            load_settings(None, {"commit-subject": wrong}, env)
        assert "items, round, story, title" in caught.value.hint


def test_a_flag_or_variable_of_no_setting_is_refused_with_a_guess(env):
    with pytest.raises(SettingsError, match=r'did you mean "analyzers\.select"'):
        load_settings(None, {"analyzer.select": "E"}, env)
    with pytest.raises(SettingsError, match="PUNCHLIST_WORKFLO"):
        load_settings(None, {}, {**env, "PUNCHLIST_WORKFLO": "x"})


def test_a_run_keeps_its_settings_word_for_word(env):
    loaded = load_settings(
        '[[checks]]\nname = "t"\ncommand = ["a", "b"]', {"limits.time": "5"}, env
    )
    assert decode_settings(encode_settings(loaded)) == loaded
    (check,) = loaded.settings.build_checks(".punchlist.toml")
    assert check.command == ("a", "b")


def test_the_state_folder_is_where_it_is_said(tmp_path):
    assert home_folder({"PUNCHLIST_HOME": str(tmp_path)}) == tmp_path
    assert home_folder({"XDG_STATE_HOME": "/s"}).as_posix() == "/s/punchlist"


def test_a_named_settings_file_must_be_there(env, tmp_path):
    with pytest.raises(SettingsError, match="no such file"):
        load_settings(None, {}, {**env, "PUNCHLIST_CONFIG": str(tmp_path / "gone.toml")})


def test_every_setting_has_a_full_name():
    assert {"workflow", "limits.time", "analyzers.select", "protect.tests"} <= set(list_names())
