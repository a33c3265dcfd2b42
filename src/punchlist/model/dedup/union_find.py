"""Union-find over indexes."""

from collections import defaultdict
from collections.abc import Iterable


class Clusters:
    """Union-find over 0..count-1; the smallest index names a set."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, index: int) -> int:
        root = index
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[index] != root:
            self._parent[index], index = root, self._parent[index]
        return root

    def join(self, a: int, b: int) -> None:
        first, second = sorted((self.find(a), self.find(b)))
        self._parent[second] = first

    def leads(self) -> list[int]:
        """Return the smallest index of every set."""
        return [index for index, parent in enumerate(self._parent) if index == parent]

    def members(self, leads: Iterable[int]) -> dict[int, list[int]]:
        """Return the sets with these leads."""
        wanted = set(leads)
        members: dict[int, list[int]] = {index: [] for index in sorted(wanted)}
        for index in range(len(self._parent)):
            if (lead := self.find(index)) in wanted:
                members[lead].append(index)
        return members

    def sets(self) -> list[list[int]]:
        return self.group_indexes(range(len(self._parent)))

    def group_indexes(self, indexes: Iterable[int]) -> list[list[int]]:
        """Return the sets of these indexes, with only these as members, smallest first."""
        members: dict[int, list[int]] = defaultdict(list)
        for index in sorted(indexes):
            members[self.find(index)].append(index)
        return list(members.values())
