"""The dry agent: the prompt is kept, and nobody is asked."""

from seating import asked, seat, tree

from punchlist.adapters.agents.dry_run import NOT_ASKED, DryAgent


def test_the_prompt_is_kept_and_nothing_is_answered(tmp_path):
    sitting, heard = seat(tmp_path, "dry"), []
    reply = asked(DryAgent(sitting), tree(tmp_path), "Fix `F001`, please", heard)
    assert (reply.failed, reply.text) == (NOT_ASKED, "")
    assert sitting.artifacts.read(reply.transcript) == b"Fix `F001`, please"
    assert heard == [f"the prompt is in {tmp_path / 'state/run' / reply.transcript}"]


def test_a_second_try_does_not_overwrite_the_first(tmp_path):
    agent = DryAgent(seat(tmp_path, "dry"))
    first, second = (asked(agent, tree(tmp_path), prompt).transcript for prompt in ("one", "two"))
    assert first != second
