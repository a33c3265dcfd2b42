"""The smart rule: equivalent rules on the same code are one, then claims that say the same of the same code."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

from punchlist.model.clusters import Clusters
from punchlist.model.equivalence import kind
from punchlist.model.finding import Finding


def clusters(findings: Sequence[Finding]) -> list[list[int]]:
    found = Clusters(len(findings))
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index, f in enumerate(findings):
        alike[f.spot.path, f.spot.line, kind(f.rule), f.title if not f.rule else ""].append(index)
    for indexes in alike.values():
        if len({findings[i].source for i in indexes}) == len(indexes):
            for index in indexes:
                found.join(indexes[0], index)
    return found.sets()
