"""A mapping and a list that are appended to without copying."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")


class AppendOnlyMap(Mapping[K, V]):
    """Immutable mapping with O(1) append: it sees the first `size` entries of a shared dict. The
    second map that grows from one gets its own dict, as do maps that replace an entry or grow
    from an empty map.
    """

    __slots__ = ("_shared", "_size")

    def __init__(self, shared: dict[K, tuple[int, V]] | None = None) -> None:
        self._shared = {} if shared is None else shared
        self._size = len(self._shared)

    def with_entry(self, key: K, value: V) -> "AppendOnlyMap[K, V]":
        shared = self._shared
        if not self._size or len(shared) != self._size or key in shared:
            shared = dict(islice(shared.items(), self._size))
        at, _ = shared.get(key, (len(shared), value))
        shared[key] = (at, value)
        return AppendOnlyMap(shared)

    def __getitem__(self, key: K) -> V:
        at, value = self._shared[key]
        if at >= self._size:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[K]:
        return islice(self._shared, self._size)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"AppendOnlyMap({dict(self)!r})"


class AppendOnlyList(Sequence[V]):
    """The same of a list: it sees the first `size` values of a shared one. Of threads that grow the
    same list, those that are not first get their own.
    """

    __slots__ = ("_shared", "_size")

    def __init__(self, shared: list[V] | None = None, size: int | None = None) -> None:
        self._shared = [] if shared is None else shared
        self._size = len(self._shared) if size is None else size

    def with_value(self, value: V) -> "AppendOnlyList[V]":
        shared, size = self._shared, self._size
        if size and len(shared) == size:
            shared.append(value)
            if shared[size] is value:
                return AppendOnlyList(shared, size + 1)
        return AppendOnlyList([*shared[:size], value])

    @overload
    def __getitem__(self, at: int) -> V: ...

    @overload
    def __getitem__(self, at: slice) -> list[V]: ...

    def __getitem__(self, at: int | slice) -> V | list[V]:
        if isinstance(at, slice):
            return [self._shared[place] for place in range(self._size)[at]]
        return self._shared[range(self._size)[at]]

    def __iter__(self) -> Iterator[V]:
        return islice(self._shared, self._size)

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AppendOnlyList) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment] # as of other containers

    def __repr__(self) -> str:
        return f"AppendOnlyList({list(self)!r})"
