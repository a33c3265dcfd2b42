"""Whatever happens on a pull request in whatever order, the laws hold.

`SOAK_SEED=7 SOAK_STEPS=1000 make soak` (or pytest with the mark `soak`) makes another journey.
"""

import pytest
from forge_kinds import KINDS
from pull_journey import Journey

import machine
from needs import rarely

SEED, STEPS = (int(machine.ENVIRONMENT.get(name, other)) for name, other in (("SOAK_SEED", 2), ("SOAK_STEPS", 1000)))  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "steps"), [(1, 40), *rarely((SEED, STEPS))])
def test_whatever_happens_on_a_pull_request_the_laws_hold(kind, seed, steps):
    with KINDS[kind].server() as server:
        journey = Journey(KINDS[kind], server, seed)
        for _ in range(steps):
            journey.step()
