"""A tracked link that leads nowhere in a work tree, such as `node_modules`, hinders neither a review, nor a run, nor a resume."""

import pytest
from shop import FLAGS, Watch

from needs import rarely
from punchlist.model.item.item import Status
from punchlist.model.ledger import events as ev

BOTH = {**FLAGS, "analyzers.enabled": "ruff,eslint"}
ESLINT = "#!/bin/sh\necho '[]'\n"


@pytest.fixture(params=["nowhere", *rarely("shared/modules")])
def linked(place, request):
    """The link leads nowhere, or to a folder that the checkout finds beside itself and a work tree does not."""
    shared = place.repo.root.parent / "shared/modules/.bin"
    shared.mkdir(parents=True)
    (shared / "eslint").write_text(ESLINT)
    (shared / "eslint").chmod(0o755)
    (place.repo.root / "node_modules").symlink_to(f"../{request.param}")
    place.repo.commit({"eslint.config.js": "export default [];\n"}, "a link")
    return place


def test_a_review_sees_what_there_is(linked):
    run = linked.run(flags=BOTH, workflow="review")
    assert not run.trouble
    assert run.reviewing.reviews["ruff"].findings
    assert linked.audit().problems == ()


def test_a_run_fixes_what_can_be_fixed(linked):
    run = linked.run(flags=BOTH)
    assert not run.trouble
    assert run.find_items(Status.FIXED)


def test_a_run_that_was_interrupted_goes_on(linked):
    def stop(entry, run):
        if isinstance(entry.event, ev.Reviewed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        linked.run(Watch(stop), flags=BOTH)
    run = linked.resume()
    assert run.ended
    assert not run.trouble
