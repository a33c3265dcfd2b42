"""Group testing finds the largest good set with few runs, and a killed search goes on where it was."""

from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.checks.group_testing import (
    GroupTrial,
    SearchResult,
    TrialResult,
    decode_causes,
    replay_search,
    search,
    search_cause,
    split_culprits,
)


def judge(culprits: dict[int, str], pairs: frozenset[tuple[int, int]] = frozenset()):
    """A project whose tests break by culprit, or by two fixes that only fail together."""

    def run(trial: GroupTrial) -> TrialResult:
        broken = {test for fix, test in culprits.items() if fix in trial.batches}
        broken |= {f"pair{a}-{b}" for a, b in pairs if a in trial.batches and b in trial.batches}
        failing = sorted(broken & set(trial.only) if trial.only else broken)
        return TrialResult(not failing, tuple(failing))

    return run


def searched(candidates, run, trusted=0) -> tuple[SearchResult, list[GroupTrial]]:
    results: list[TrialResult] = []
    trials: list[GroupTrial] = []
    while isinstance(
        step := replay_search(search(candidates, trusted=trusted), results)[0], GroupTrial
    ):
        trials.append(step)
        results.append(run(step))
    return step, trials


@given(st.integers(0, 200), st.data())
def test_exactly_the_culprits_are_left_out(size, data):
    culprits = data.draw(
        st.dictionaries(
            st.integers(1, max(size, 1)), st.sampled_from(["t1", "t2", "t3"]), max_size=5
        )
    )
    culprits = {fix: test for fix, test in culprits.items() if fix <= size}
    found, _ = searched(range(1, size + 1), judge(culprits))
    assert set(found.culprits) == set(culprits)
    assert set(found.good) == set(range(1, size + 1)) - set(culprits)


@given(st.integers(2, 500), st.data())
def test_k_culprits_among_n_take_about_k_log_n_runs(size, data):
    culprits = data.draw(st.sets(st.integers(1, size), min_size=1, max_size=4))
    _, trials = searched(range(1, size + 1), judge(dict.fromkeys(culprits, "t")))
    assert len(trials) <= len(culprits) * (ceil(log2(size)) + 3) + 3
    assert sum(not trial.only for trial in trials) <= 2, (
        "whole suites are run at the beginning and at the end"
    )


@given(st.integers(8, 300), st.data())
def test_many_culprits_that_each_break_a_test_of_their_own_take_about_one_run_each(size, data):
    culprits = data.draw(st.sets(st.integers(1, size), min_size=3, max_size=size // 2))
    own = {fix: f"t{fix}" for fix in culprits}
    found, trials = searched(range(1, size + 1), judge(own))
    assert found.culprits == {fix: (test,) for fix, test in own.items()}
    assert set(found.good) == set(range(1, size + 1)) - culprits
    assert len(trials) <= len(culprits) + 3 * ceil(log2(size)) + 7


@given(st.integers(8, 60), st.data())
def test_of_many_culprits_that_break_the_same_tests_each_is_found(size, data):
    tests = st.sets(st.sampled_from("abcdefgh"), min_size=1)
    culprits = data.draw(st.dictionaries(st.integers(1, size), tests, min_size=1, max_size=6))

    def run(trial: GroupTrial) -> TrialResult:
        broken = {test for fix in culprits if fix in trial.batches for test in culprits[fix]}
        failing = sorted(broken & set(trial.only) if trial.only else broken)
        return TrialResult(not failing, tuple(failing))

    found, _ = searched(range(1, size + 1), run)
    assert set(found.culprits) == set(culprits)
    assert set(found.good) == set(range(1, size + 1)) - set(culprits)


def test_trusted_fixes_are_seen_green_before_the_others_are_searched():
    found, trials = searched(range(1, 101), judge(dict.fromkeys((70, 85, 93), "t")), trusted=60)
    assert set(found.culprits) == {70, 85, 93}
    assert trials[1] == GroupTrial(tuple(range(1, 61)), repeat=False)
    assert all(set(range(1, 61)) <= set(trial.batches) for trial in trials)


@given(st.integers(1, 60), st.integers(0, 60), st.data())
def test_trusting_a_culprit_does_not_let_it_land(size, trusted, data):
    culprits = data.draw(st.sets(st.integers(1, size), max_size=4))
    found, _ = searched(range(1, size + 1), judge(dict.fromkeys(culprits, "t")), trusted)
    assert set(found.culprits) == culprits
    assert set(found.good) == set(range(1, size + 1)) - culprits


def test_one_green_run_settles_everything():
    found, trials = searched(range(1, 4319), judge({}))
    assert len(trials) == 1
    assert len(found.good) == 4318


def test_of_two_fixes_that_fail_only_together_one_lands():
    found, _ = searched(range(1, 33), judge({}, frozenset({(3, 30)})))
    assert len(found.culprits) == 1
    assert set(found.culprits) <= {3, 30}
    assert len(found.good) == 31


@given(st.integers(1, 60), st.data())
def test_what_is_called_good_was_seen_green_together_in_a_whole_run(size, data):
    culprits = data.draw(
        st.dictionaries(st.integers(1, size), st.sampled_from(["a", "b"]), max_size=3)
    )
    pairs = data.draw(
        st.sets(
            st.tuples(st.integers(1, size), st.integers(1, size)).filter(lambda p: p[0] < p[1]),
            max_size=3,
        )
    )
    run = judge(culprits, frozenset(pairs))
    found, trials = searched(range(1, size + 1), run)
    seen = [set(trial.batches) for trial in trials if not trial.only and run(trial).green]
    assert not found.good or set(found.good) in seen


def test_tests_that_fail_without_any_fix_blame_nobody():
    def run(trial: GroupTrial) -> TrialResult:
        failing = () if "unstable" in trial.ignored else ("unstable",)
        return TrialResult(not failing, failing)

    found, _ = searched(range(1, 9), run)
    assert set(found.good) == set(range(1, 9))
    assert found.unstable == ("unstable",)


def test_a_check_that_tells_nothing_per_test_is_searched_with_whole_runs():
    run = lambda trial: TrialResult(5 not in trial.batches)  # noqa: E731
    found, trials = searched(range(1, 9), run)
    assert found.culprits == {5: ()}
    assert set(found.good) == {1, 2, 3, 4, 6, 7, 8}
    assert all(not trial.only for trial in trials)


def test_a_search_that_can_find_nobody_gives_up_and_passes_nothing_new():
    found, _ = searched(range(1, 5), lambda trial: TrialResult(green=False))
    assert found.gave_up
    assert found.good == ()


def order_dependent(culprit: int):
    """`b` passes in a whole run and fails when its file is run alone; the culprit really breaks it."""

    def run(trial: GroupTrial) -> TrialResult:
        broken = "b" not in trial.ignored and (bool(trial.only) or culprit in trial.batches)
        return TrialResult(not broken, ("b",) if broken else ())

    return run


def test_a_test_that_fails_only_when_run_alone_does_not_hide_the_culprit_that_breaks_it():
    found, trials = searched(range(1, 9), order_dependent(5))
    assert set(found.culprits) == {5}
    assert found.unstable == ()
    assert set(found.good) == {1, 2, 3, 4, 6, 7, 8}
    assert sum(bool(trial.only) for trial in trials) == 1, (
        "it is asked alone once, and then no more"
    )


def test_a_control_run_that_goes_wrong_makes_nobody_good():
    def run(trial: GroupTrial) -> TrialResult:
        if not trial.batches:
            return TrialResult(green=False, failing=("A",), trouble="timed out after 5 s")
        return TrialResult(green=False, failing=("A",))

    found, _ = searched(range(1, 5), run)
    assert found.good == ()
    assert found.unstable == ()
    assert "timed out" in found.gave_up


def test_each_culprit_is_told_what_it_broke_itself():
    found, _ = searched(range(1, 17), judge({3: "t3", 12: "t12"}))
    assert found.culprits == {3: ("t3",), 12: ("t12",)}


def unlucky(run, *turns: int):
    """The same project, whose check is red without a reason in these runs."""
    asked = []

    def told(trial: GroupTrial) -> TrialResult:
        asked.append(trial)
        said = run(trial)
        return TrialResult(green=False) if said.green and len(asked) in turns else said

    return told


def test_a_check_that_is_red_once_is_not_searched_for_culprits():
    found, trials = searched(range(1, 134), unlucky(judge({}), 1))
    assert (set(found.good), found.culprits, found.noise) == (set(range(1, 134)), {}, True)
    assert len(trials) == 3, "red with the fixes, green without, green with them"


@given(st.integers(1, 60), st.integers(1, 12), st.data())
def test_one_unlucky_run_makes_no_fix_a_culprit_and_hides_none(size, turn, data):
    culprits = data.draw(st.sets(st.integers(1, size), max_size=2))
    tests = data.draw(st.booleans())
    plain = lambda trial: TrialResult(not culprits & set(trial.batches))  # noqa: E731
    run = unlucky(judge(dict.fromkeys(culprits, "t")) if tests else plain, turn)
    found, _ = searched(range(1, size + 1), run)
    assert set(found.culprits) <= culprits
    assert not culprits & set(found.good)
    assert found.gave_up or set(found.good) == set(range(1, size + 1)) - culprits


def test_a_test_that_a_fix_breaks_only_in_whole_runs_is_searched_with_whole_runs():
    def run(trial: GroupTrial) -> TrialResult:
        broken = not trial.only and 3 in trial.batches
        return TrialResult(not broken, ("late",) if broken else ())

    found, _ = searched(range(1, 9), run)
    assert set(found.culprits) == {3}
    assert set(found.good) == {1, 2, 4, 5, 6, 7, 8}


def test_checks_that_change_their_mind_all_the_time_blame_no_fix():
    turns = iter([False, True, False] + [False] * 3 + [True] + [False, True, False] + [False] * 3 + [True])  # fmt: skip
    found, _ = searched(range(1, 9), lambda _: TrialResult(next(turns)))
    assert found.culprits == {}
    assert (
        found.gave_up == "the checks are red at one time and green at another with the same fixes"
    )


def test_results_of_trials_that_are_no_longer_asked_for_are_passed_over():
    old = [
        TrialResult(green=False, trial=GroupTrial((1, 2))),
        TrialResult(green=True, trial=GroupTrial(())),
        TrialResult(green=False, trial=GroupTrial((1,))),
    ]
    again = TrialResult(green=True, trial=GroupTrial((1, 2)))
    assert replay_search(search([1, 2]), old)[0] == GroupTrial((1, 2), repeat=False)
    found, used = replay_search(search([1, 2]), [*old, again])
    assert (found.good, used) == ((1, 2), 4)


def answered(found, answer) -> tuple[object, int]:
    """What a search finds where `answer` says what is seen without some, and with how many trials."""
    trials = 0
    try:
        left_out = next(found)
        while True:
            trials += 1
            left_out = found.send(answer(set(left_out)))
    except StopIteration as end:
        return end.value, trials


@given(st.integers(1, 300), st.data())
def test_one_cause_is_found_at_once_if_it_is_the_likeliest_and_soon_if_not(size, data):
    cause = data.draw(st.integers(0, size - 1))
    found, trials = answered(search_cause(range(size)), lambda left_out: cause not in left_out)
    assert found == cause
    assert trials <= 2 * (cause + 1).bit_length()


@given(st.integers(1, 100), st.data())
def test_of_causes_that_only_act_together_or_each_alone_one_is_found(size, data):
    causes = data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=4))
    together, _ = answered(search_cause(range(size)), causes.isdisjoint)
    assert together == min(causes)
    alone, _ = answered(search_cause(range(size)), lambda left_out: not causes <= left_out)
    assert alone == max(causes)


def test_what_is_there_without_any_suspect_has_no_cause_among_them():
    assert answered(search_cause(range(9)), lambda _: True) == (None, 5)


@given(st.integers(2, 200), st.data())
def test_the_causes_of_many_effects_are_read_from_the_same_few_trials(size, data):
    causes = data.draw(
        st.dictionaries(
            st.text("ab", max_size=4), st.sets(st.integers(0, size - 1), min_size=1, max_size=3)
        )
    )

    def gone(left_out):
        return {effect for effect, needed in causes.items() if needed & left_out}

    found, trials = answered(decode_causes(range(size), causes), gone)
    alone = {effect: min(needed) for effect, needed in causes.items() if len(needed) == 1}
    assert found == alone
    assert trials == 2 * ceil(log2(size))


@given(st.integers(1, 40), st.data())
def test_all_culprits_are_found_and_no_other(size, data):
    bad = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    looks = []

    def hunt():
        looks.append((yield from split_culprits(range(size))))

    hunting = hunt()
    tried = next(hunting, None)
    while tried is not None:
        looks.append(tried)
        try:
            tried = hunting.send(bad.isdisjoint(tried))
        except StopIteration:
            break
    assert set(looks.pop()) == bad
    assert len(looks) <= 2 * size
