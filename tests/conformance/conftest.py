"""What the conformance tests share: a bench in memory."""

import pytest
import scripted


@pytest.fixture
def make_bench(tmp_path):
    made = []

    def make(files: dict[str, str], *reviewers, name: str = "bench") -> scripted.Bench:
        bench = scripted.Bench(tmp_path / name, files)
        bench.reviewers = {reviewer.name: reviewer for reviewer in reviewers}
        made.append(bench)
        return bench

    yield make
    for bench in made:
        bench.store.close()
