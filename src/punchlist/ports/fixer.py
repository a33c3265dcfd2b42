"""The port to what turns batches into patches."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Item
from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Tree


class BatchFix(Struct, frozen=True, kw_only=True):
    """Result of a fixer for one batch: a patch, or the reason why there is none."""

    batch: int
    patch: Patch | None = None
    refused: str = ""


class Fixer(Protocol):
    """Turns batches into patches against the tree it is given."""

    async def fix(
        self, batches: Sequence[Batch], items: Mapping[int, Item], tree: Tree
    ) -> Sequence[BatchFix]: ...
