"""The one stacked pull request of a pull request, where nothing may be done."""

import asyncio

from msgspec.structs import replace
from pull_model import PULL, make_item, make_picture

from punchlist.app.pulls.stack import StackKeeper, StackWish
from punchlist.model.item.item import Status


class EmptyForge:
    """A forge that lists no pull request of ours; nothing else may be asked of it."""

    async def find_stacks(self, branch):
        return ()


def test_the_authors_branch_is_not_pushed_to_if_it_has_the_name_of_ours():
    async def choose(items, refused):
        raise AssertionError("no commit is made")

    run = make_picture(make_item(1, Status.FIXED)).run
    pull = replace(PULL, head_name="punchlist/pr-7")
    keeper = StackKeeper(EmptyForge(), None, pull, ())
    kept = asyncio.run(keeper.keep(run, {}, choose, StackWish(asked=True)))
    (note,) = kept.notes
    assert note.endswith("would be `punchlist/pr-7`, which is the branch of this one")
