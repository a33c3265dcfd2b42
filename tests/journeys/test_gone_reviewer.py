"""A run goes on with the reviewers it began with, though the machine is not the same any more."""

import os

import pytest
import shop

from punchlist.model.ledger import events as ev
from punchlist.model.ledger.outcome import RunOutcome

NOTHING = "#!/bin/sh\necho '{\"comments\": []}'\n"


class Stop(Exception):
    """The process ends here."""


def stop(entry, run):
    if isinstance(entry.event, ev.Started):
        raise Stop


def test_a_reviewer_that_was_uninstalled_meanwhile_is_told_of_and_the_run_ends(
    place, tmp_path, monkeypatch
):
    tool = tmp_path / "bin" / "shellcheck"
    tool.parent.mkdir()
    tool.write_text(NOTHING)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    for name in shop.FILES:
        (place.repo.root / name).unlink()
    (place.repo.root / "a.sh").write_text("echo $1\n")
    place.repo.commit(message="a script")
    with pytest.raises(Stop):
        place.run(shop.Watch(stop), flags={"analyzers.enabled": "auto"}, allow_checks=False)
    tool.unlink()
    run = place.resume()
    assert run.ended == RunOutcome.INCOMPLETE
    assert [blind.partition(";")[0] for blind in run.blind] == [
        "shellcheck: shellcheck is not installed"
    ]
    assert set(run.reviewing.reviews) == set(run.started.reviewers)
