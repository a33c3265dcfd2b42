"""Sets of indexes that grow together."""

from collections import defaultdict
from collections.abc import Iterable


class Clusters:
    """Union-find over 0..count-1; the smallest index names a set."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def of(self, index: int) -> int:
        root = index
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[index] != root:
            self._parent[index], index = root, self._parent[index]
        return root

    def join(self, a: int, b: int) -> None:
        first, second = sorted((self.of(a), self.of(b)))
        self._parent[second] = first

    def leads(self) -> list[int]:
        """The smallest index of every set."""
        return [index for index, parent in enumerate(self._parent) if index == parent]

    def members(self, leads: Iterable[int]) -> dict[int, list[int]]:
        """The sets that these lead."""
        wanted = set(leads)
        members: dict[int, list[int]] = {index: [] for index in sorted(wanted)}
        for index in range(len(self._parent)):
            if (lead := self.of(index)) in wanted:
                members[lead].append(index)
        return members

    def sets(self) -> list[list[int]]:
        return self.sets_of(range(len(self._parent)))

    def sets_of(self, indexes: Iterable[int]) -> list[list[int]]:
        """The sets these are in, with only these as members, smallest first."""
        members: dict[int, list[int]] = defaultdict(list)
        for index in sorted(indexes):
            members[self.of(index)].append(index)
        return list(members.values())
