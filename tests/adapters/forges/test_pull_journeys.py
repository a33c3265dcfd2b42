"""Whatever happens on a pull request in whatever order, the laws hold."""

import pytest
from forge_kinds import KINDS
from pull_journey import Journey

from needs import rarely


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "steps"), [(1, 40), *rarely((2, 1000))])
def test_whatever_happens_on_a_pull_request_the_laws_hold(kind, seed, steps):
    with KINDS[kind].server() as server:
        journey = Journey(KINDS[kind], server, seed)
        for _ in range(steps):
            journey.step()
