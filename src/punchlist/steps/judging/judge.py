"""The judge's own files in the trees that checks run on: those of the base, whatever the change
under review made of them.
"""

from collections.abc import Iterable

from punchlist.ports.tree import Pristine
from punchlist.ports.world import World


def judge_view(world: World, opened: Iterable[str] = ()) -> Pristine:
    """Configuration is the base's alone; tests of the change are added to the base's. `opened` are
    files that fixes touch.
    """
    protected = world.protected
    return Pristine(
        origin=world.change.base,
        alone=protected.configuration,
        kept=protected.tests,
        opened=frozenset(opened),
    )
