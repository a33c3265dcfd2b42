"""A newcomer types what the README and the tutorial say, and sees what they show."""

from pathlib import Path

import newcomer


def test_readme_and_tutorial_hold_in_a_fresh_clone_with_an_empty_home(tmp_path: Path):
    assert not newcomer.follow(tmp_path)
