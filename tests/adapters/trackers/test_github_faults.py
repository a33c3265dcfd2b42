"""Whatever goes wrong, in whatever order: an item has one open issue, or is told as not filed."""

import asyncio
from collections import Counter

from github_standin import FAULTS, Fault
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from needs import SOAK

ITEMS = range(1, 4)
LOOSE = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
faults = st.sampled_from([None, *FAULTS.values()])
late = st.builds(Fault, st.just("late"), seconds=st.floats(0, 100))
lags = st.sampled_from([0, 2, 30, 1e9])
worlds = st.fixed_dictionaries(
    {
        "writing": st.lists(faults, max_size=10),
        "reading": st.lists(st.one_of(st.none(), faults), max_size=30),
        "list_lag": lags,
        "search_lag": lags,
        "may_label": st.booleans(),
    }
)


def counted(bench):
    return Counter(bench.github.fingerprints())


def one_open_issue_or_told(bench, told, world):
    bench.fresh(**{**world, "writing": list(world["writing"]), "reading": list(world["reading"])})
    dossiers = [told(number) for number in ITEMS]
    filings = bench.file(*dossiers)
    open_now = counted(bench)
    assert [filing.item for filing in filings] == list(ITEMS)
    for dossier, filing in zip(dossiers, filings, strict=True):
        assert bool(filing.ref) != bool(filing.failed)
        assert (
            open_now[dossier.item.fingerprint] == 1
            if filing.ref
            else open_now[dossier.item.fingerprint] <= 1
        )
    assert len(bench.github.issues) == len(bench.github.open), (
        "nothing was filed twice, not even for a moment"
    )
    bench.github.writing, bench.github.reading = [], []
    later = bench.file(*dossiers)
    assert all(filing.ref for filing in later)
    assert counted(bench) == Counter(each.item.fingerprint for each in dossiers)
    assert [again.ref for first, again in zip(filings, later, strict=True) if first.ref] == [
        f.ref for f in filings if f.ref
    ]


@settings(max_examples=15, **LOOSE)
@given(world=worlds)
def test_any_sequence_of_faults_leaves_one_open_issue_or_one_that_is_told(bench, told, world):
    one_open_issue_or_told(bench, told, world)


@settings(max_examples=300 if SOAK else 30, **LOOSE)
@given(world=worlds)
def test_many_sequences_of_faults_leave_one_open_issue_or_one_that_is_told(bench, told, world):
    one_open_issue_or_told(bench, told, world)


@settings(max_examples=10, **LOOSE)
@given(writing=st.lists(st.one_of(faults, late), max_size=10), list_lag=lags)
@example(writing=[Fault("late", seconds=86)], list_lag=30)
def test_requests_that_are_done_after_they_were_given_up_end_as_one_open_issue_with_the_next_filing(
    bench, told, writing, list_lag
):
    bench.fresh(writing=list(writing), list_lag=list_lag, search_lag=1e9)
    dossiers = [told(number) for number in ITEMS]
    bench.file(*dossiers)
    bench.github.writing = []
    bench.clock.now += 100
    filings = bench.file(*dossiers)
    assert all(filing.ref for filing in filings)
    assert counted(bench) == Counter(each.item.fingerprint for each in dossiers)
    assert {filing.ref for filing in filings} == {issue["html_url"] for issue in bench.github.open}


@settings(max_examples=6, **LOOSE)
@given(cuts=st.lists(st.integers(0, 40), min_size=1, max_size=4), list_lag=lags)
def test_cut_off_after_any_request_and_begun_again_each_item_is_filed_once(
    bench, told, cuts, list_lag
):
    bench.fresh(list_lag=list_lag, search_lag=1e9)
    dossiers = [told(number) for number in ITEMS]
    for cut in cuts:
        asyncio.run(cut_off(bench, dossiers, cut))
    assert all(filing.ref for filing in bench.file(*dossiers))
    assert len(bench.github.issues) == len(ITEMS)


async def cut_off(bench, dossiers, after):
    """Lets so many requests through; the answer to the last one never comes, and whoever waits for it is ended."""
    left = [after]
    reached = asyncio.Event()
    loop = asyncio.get_running_loop()

    def rule(asked):
        left[0] -= 1
        if left[0] < 0:
            loop.call_soon_threadsafe(reached.set)
            return Fault("hang up", effect=True)
        return None

    bench.github.rule = rule
    filing = asyncio.ensure_future(bench.tracker().file(dossiers))
    ending = asyncio.ensure_future(reached.wait())
    await asyncio.wait([filing, ending], return_when=asyncio.FIRST_COMPLETED)
    for task in (filing, ending):
        task.cancel()
    await asyncio.gather(filing, ending, return_exceptions=True)
    bench.github.rule = lambda asked: None
