"""What one machine sees stands beside what another saw only if the checks agree about the base."""

import asyncio

import msgspec
import pytest
from examination import Bench

from punchlist.model.checks.check import Check, CheckKind, CheckResult
from punchlist.steps.judging.baseline import Measure, find_disagreement, measure_baseline

CHECK = Check(name="same", command=("true",), kind=CheckKind.PLAIN)


@pytest.mark.parametrize("cached", [True, False])
def test_a_machine_on_which_a_check_says_something_else_of_the_base_is_told_apart(
    repo, tmp_path, cached
):
    bench = Bench(repo, tmp_path / "home", {"notes.txt": "x\n"}, check=CHECK, compare=False)
    run, world = bench.run(), bench.world
    asyncio.run(measure_baseline(Measure(CHECK), run, world))
    if not cached:
        bench.cache.clear()
    assert asyncio.run(find_disagreement(run, world)) == ""
    there = msgspec.json.decode(world.artifacts.read("baseline-same.json"), type=CheckResult)
    other = msgspec.structs.replace(there, exit_code=1)
    world.artifacts.write("baseline-same.json", msgspec.json.encode(other))
    assert "same says something else of the base" in asyncio.run(find_disagreement(run, world))
