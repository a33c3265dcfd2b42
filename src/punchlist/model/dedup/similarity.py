"""Similarity of claims: shared words, weighted by how rare they are in the batch."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import fsum, log, sqrt

from punchlist.model.dedup.vocabulary import last_parts, stem, vocabulary
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.finding.word_lists import load_words

_WORDS = load_words(__file__, "common_words.toml")
_EXPECTED = {stem(word): 0.08 for word in _WORDS["review"]} | {
    stem(word): 0.35 for word in _WORDS["function"]
}
"""In what share of claims a word is expected before any were read."""
_EXPECTED_OF_OTHERS = 0.004
_WORTH = 20
"""How many claims that expectation is worth."""
_STEEPNESS = 1.5
# Words that more claims use bring no claims together, but count once others have.
_CROWD = 32
# A longer text names things in passing; a title this short names what it is about.
_SHORT = 12
_WORD = late_pattern(r"\w+")


class ClaimSimilarity:
    """Word weights learnt from one batch of claims. 1: the same words, 0: none in common."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = [vocabulary(text) for text in texts]
        use = Counter(word for words in self._words for word in words)
        total = len(texts) + _WORTH
        expected = {word: _EXPECTED.get(word, _EXPECTED_OF_OTHERS) for word in use}
        self._weight = {
            word: log(total / (count + _WORTH * expected[word])) ** _STEEPNESS
            for word, count in use.items()
        }
        self._size = [fsum(map(self._weight.__getitem__, words)) for words in self._words]

    def score_pair(self, a: int, b: int) -> float:
        """Return the cosine of two claims, by their index."""
        shared = self._words[a] & self._words[b]
        if not shared:
            return 0.0
        return fsum(map(self._weight.__getitem__, shared)) / sqrt(self._size[a] * self._size[b])

    def find_pairs(
        self, members: Sequence[int], least: Callable[[int, int], float]
    ) -> Iterator[tuple[int, int, float]]:
        """Yield the pairs that are alike enough, but for claims that share only crowded words."""
        users: dict[str, list[int]] = defaultdict(list)
        for index in members:
            for word in self._words[index]:
                users[word].append(index)
        seen: set[tuple[int, int]] = set()
        for word in sorted(users):
            using = users[word]
            if 1 < len(using) <= _CROWD and word not in _EXPECTED:
                seen.update(combinations(using, 2))
        for a, b in sorted(seen):
            needed = least(a, b)
            if needed <= 1 and (score := self.score_pair(a, b)) >= needed:
                yield a, b, score


def are_distinct(a: str, b: str) -> bool:
    """Whether two titles say the same of different things: `unused name a`, `unused name b`."""
    one, two = _WORD.findall(a.casefold()), _WORD.findall(b.casefold())
    if len(one) == len(two):
        differing: int = sum(x != y and stem(x) != stem(y) for x, y in zip(one, two, strict=True))
        if 0 < differing <= max(1, len(one) // 4):
            return True
    if min(len(one), len(two)) > _SHORT:
        return False
    mine, yours = last_parts(a), last_parts(b)
    return bool(mine and yours and not mine & yours)
