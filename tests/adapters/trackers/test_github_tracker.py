"""Issues on GitHub: looked for in every place, added once, opened again, tidied, and never at the price of the token."""

import asyncio
import threading
from itertools import pairwise

import pytest
from github_standin import BODY_LIMIT, FAULTS, TOKEN, Fault

from punchlist.adapters.trackers.issues.deduplicate import fit_body
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact


def of(github, method, path):
    return [asked for asked in github.asked if asked.method == method and asked.path.endswith(path)]


def test_labels_are_made_once_in_their_colours(bench, told):
    bench.github.labels["tech-debt"] = "123456"
    bench.file(told(1), told(2), told(3, Severity.CRITICAL))
    assert bench.github.labels == {"tech-debt": "123456", "major": "d93f0b", "critical": "b60205"}
    assert [[label["name"] for label in issue["labels"]] for issue in bench.github.open][-1] == [
        "tech-debt",
        "critical",
    ]


def test_labels_of_ones_own_take_the_place_of_the_usual_one(bench, told):
    bench.file(told(1), labels=("house rules", "debt"))
    assert [label["name"] for label in bench.github.open[0]["labels"]] == [
        "house rules",
        "debt",
        "major",
    ]
    bench.file(told(1), labels=())
    assert len(bench.github.issues) == 1


def test_who_may_not_label_files_all_the_same_and_finds_it_again(bench, told):
    bench.github.may_label, bench.github.search_lag = False, 1e9
    (first,) = bench.file(told(1))
    (again,) = bench.file(told(1))
    assert first.ref == again.ref
    assert len(bench.github.issues) == 1


def test_an_old_issue_that_lost_its_label_is_found_by_search(bench, told):
    (first,) = bench.file(told(1))
    bench.github.issues[1]["labels"] = []
    for number in range(2, 120):
        bench.github.issues[number] = {
            **bench.github.issues[1],
            "number": number,
            "body": "something else",
        }
    bench.clock.now += 3600
    assert bench.file(told(1))[0].ref == first.ref
    assert of(bench.github, "GET", "/search/issues")


def test_what_search_says_is_old_so_the_issue_is_read_again(bench, told):
    bench.file(told(1))
    bench.clock.now += 3600
    bench.github.index = {1: bench.github.issues.pop(1)}
    bench.github.odd[1] = 410
    (filing,) = bench.file(told(1))
    assert filing.ref.endswith("/2")
    assert of(bench.github, "GET", "/search/issues")


def test_lists_are_read_to_their_last_page(bench, told):
    bench.github.page = 3
    bench.file(*map(told, range(1, 12)))
    bench.github.search_lag = 1e9
    assert len({filing.ref for filing in bench.file(*map(told, range(1, 13)))}) == 12
    assert len(bench.github.issues) == 12


def test_an_issue_that_lists_do_not_show_yet_is_found_by_its_number(bench, told):
    bench.github.list_lag = bench.github.search_lag = 1e9
    bench.github.odd = {1: 404, 3: 410, 4: 301}
    bench.file(told(1), told(2))
    bench.file(told(1), told(2))
    assert sorted(bench.github.issues) == [5, 6]


def test_pull_requests_and_strangers_cannot_pose_as_an_issue_of_ours(bench, told):
    bench.github.association = "NONE"
    body = told(1).body
    bench.github.add(
        {"title": "x", "body": body, "labels": ["tech-debt"]},
        user={"login": "mallory", "type": "User"},
    )
    bench.github.add(
        {"title": "x", "body": body, "labels": ["tech-debt"]}, pull_request={"url": "x"}
    )
    (filing,) = bench.file(told(1))
    assert filing.ref.endswith("/3")
    assert bench.github.issues[1]["state"] == "open", "what strangers filed is theirs"
    assert bench.file(told(1))[0].ref == filing.ref


def test_a_job_whose_token_belongs_to_nobody_finds_what_it_filed(bench, told):
    bench.github.person, bench.github.association = False, "NONE"
    (first,) = bench.file(told(1))
    assert bench.file(told(1))[0].ref == first.ref


def test_what_was_closed_as_done_and_is_back_is_opened_again(bench, told):
    (first,) = bench.file(told(1))
    bench.github.issues[1] |= {"state": "closed", "state_reason": "completed"}
    (again,) = bench.file(told(1))
    assert again.ref == first.ref
    assert bench.github.issues[1]["state"] == "open"
    assert "Seen again after it was closed: run `r1`, item 1." in bench.github.issues[1]["body"]
    bench.file(told(1))
    assert bench.github.issues[1]["body"].count("Seen again") == 1


def test_what_a_person_declined_stays_closed(bench, told):
    (first,) = bench.file(told(1))
    bench.github.issues[1] |= {"state": "closed", "state_reason": "not_planned"}
    assert bench.file(told(1))[0].ref == first.ref
    assert bench.github.issues[1]["state"] == "closed"
    assert len(bench.github.issues) == 1


def test_an_issue_that_may_not_be_opened_again_is_told_and_the_others_are_filed(bench, told):
    bench.file(told(1))
    bench.github.issues[1] |= {"state": "closed", "state_reason": "completed", "locked": True}
    closed, other = bench.file(told(1), told(2))
    assert "cannot be opened again" in closed.failed
    assert other.ref


def test_a_deleted_issue_is_filed_anew(bench, told):
    bench.file(told(1))
    del bench.github.issues[1]
    bench.github.odd[1] = 410
    assert bench.file(told(1))[0].ref.endswith("/2")


@pytest.mark.parametrize("lag", [0, 1e9])
def test_workers_that_file_at_the_same_moment_agree_on_the_first_issue(bench, told, lag):
    bench.github.list_lag = bench.github.search_lag = lag
    bench.github.gate = threading.Barrier(2)
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(bench.file(*map(told, range(1, 6)))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bench.github.gate = None
    assert len(bench.github.issues) > 5, "both were let through to file"
    assert sorted(bench.github.fingerprints()) == sorted(
        told(n).item.fingerprint for n in range(1, 6)
    )
    first, second = ([filing.ref for filing in filings] for filings in answers)
    assert first == second
    closed = [issue for issue in bench.github.issues.values() if issue["state"] == "closed"]
    kept = {issue["number"] for issue in bench.github.open}
    for issue in closed:
        assert int(issue["body"].split("#")[1].split(".")[0]) in kept
        assert "punchlist:fingerprint" not in issue["body"]


def test_issues_that_others_create_while_numbers_are_read_count_from_the_first(bench, told):
    """Number 1 was free when it was read; then another run created 1 and 2 for the same item."""
    dossier = told(1)
    bench.fresh(list_lag=3600)

    def create_meanwhile(asked):
        if asked.path.endswith("/issues/2") and not bench.github.issues:
            for _ in range(2):
                bench.github.add({"title": dossier.title, "body": dossier.body})

    bench.github.rule = create_meanwhile
    (filing,) = bench.file(dossier)
    assert filing.ref.endswith("/issues/1")
    assert [issue["number"] for issue in bench.github.open] == [1]


def test_duplicates_that_an_earlier_run_could_not_tidy_are_tidied_by_the_next(bench, told):
    bench.file(told(1))
    bench.github.add({"title": "again", "body": told(1).body, "labels": ["tech-debt"]})
    assert bench.file(told(1))[0].ref.endswith("/1")
    assert [issue["number"] for issue in bench.github.open] == [1]


@pytest.mark.parametrize(
    "fault", [name for name in FAULTS if "limit" not in name and "many" not in name]
)
def test_a_request_to_file_that_goes_wrong_leaves_one_issue(bench, told, fault):
    bench.github.writing = [FAULTS[fault]]
    filings = bench.file(told(1), told(2))
    assert [filing.failed for filing in filings] == ["", ""]
    assert len(bench.github.issues) == 2


def test_an_answer_that_takes_too_long_is_looked_for_and_not_asked_for_again(bench, told):
    bench.github.writing = [Fault("slow", effect=True, seconds=0.6)]
    (filing,) = bench.file(told(1), pacing={"timeout": 0.3})
    assert filing.ref.endswith("/1")
    assert len(of(bench.github, "POST", "/issues")) == 1


def test_a_request_that_is_done_long_after_it_was_given_up_ends_as_one_open_issue(bench, told):
    bench.github.writing = [Fault("late", seconds=14)]
    (filing, _) = bench.file(told(1), told(2))
    bench.clock.now += 60
    assert bench.file(told(1), told(2))[0].ref == filing.ref
    assert len(bench.github.open) == 2


@pytest.mark.parametrize("fault", [name for name in FAULTS if "limit" in name or "many" in name])
def test_limits_are_waited_for_as_long_as_they_say(bench, told, fault):
    bench.github.writing, before = [FAULTS[fault]], bench.clock.now
    filings = bench.file(told(1), told(2))
    assert not any(filing.failed for filing in filings)
    assert bench.clock.now - before >= (FAULTS[fault].seconds or 60)
    assert bench.github.early == 0
    assert len(bench.github.issues) == 2


def test_a_limit_that_ends_in_an_hour_is_not_waited_for_and_nothing_more_is_asked(bench, told):
    bench.file(told(1))
    bench.github.rule = lambda asked: (
        Fault("limit", seconds=3600) if asked.method == "POST" else None
    )
    known, *others = bench.file(told(1), told(2), told(3))
    assert known.ref
    assert all("3600 s" in filing.failed and "rate limit" in filing.failed for filing in others)
    assert len(of(bench.github, "POST", "/issues")) == 1 + 1


def test_a_server_that_is_down_costs_minutes_and_not_hours(bench, told):
    before = bench.clock.now
    bench.github.rule = lambda asked: FAULTS["bad gateway"] if asked.method == "POST" else None
    filings = bench.file(*map(told, range(1, 100)))
    assert all("502" in filing.failed for filing in filings)
    assert bench.clock.now - before < 600
    assert not bench.github.issues


def test_one_that_is_refused_does_not_keep_the_others_from_being_filed(bench, told):
    filings = bench.file(told(1), told(2, detail="[REFUSED]"), told(3))
    assert [bool(filing.ref) for filing in filings] == [True, False, True]
    assert "422" in filings[1].failed


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"token": "another"}, "token is not accepted"),
        ({"has_issues": False}, "issues switched off"),
        ({"archived": True}, "archived"),
        ({"repository": "acme/else"}, "does it exist"),
        ({"may_file": False}, "not accessible"),
    ],
)
def test_what_every_issue_would_meet_is_told_for_each_and_asked_once(bench, told, state, words):
    for name, value in state.items():
        setattr(bench.github, name, value)
    filings = bench.file(told(1), told(2), told(3))
    assert [words in filing.failed for filing in filings] == [True] * 3
    assert len(of(bench.github, "POST", "/issues")) <= 2
    assert TOKEN not in str(filings)


def test_a_repository_that_was_renamed_is_followed(bench, told):
    bench.github.former = "acme/old-name"
    (filing,) = bench.file(told(1), repository="acme/old-name")
    assert filing.ref.endswith("/acme/shop/issues/1")
    assert bench.file(told(1))[0].ref == filing.ref


def test_the_token_does_not_follow_to_another_host(bench, told, standin):
    bench.github.elsewhere = "http://localhost:1"
    (filing,) = bench.file(told(1))
    assert "another host" in filing.failed
    bench.github.elsewhere = standin.api.replace("127.0.0.1", "127.0.0.2")
    asked = len(bench.github.asked)
    assert "another host" in bench.file(told(1))[0].failed
    assert len(bench.github.asked) == asked + 1


@pytest.mark.parametrize(
    "api",
    [
        "http://api.github.example",
        "ftp://127.0.0.1",
        "https://me:pw@api.github.example",
        "",
        "127.0.0.1",
    ],
)
def test_the_token_goes_only_where_it_is_safe(bench, told, api):
    (filing,) = bench.file(told(1), api=api)
    assert "track.api" in filing.failed
    assert "pw" not in filing.failed
    assert not bench.github.asked


def test_a_token_that_is_none_is_not_sent_and_not_shown(bench, told):
    async def token(host):
        return "two words\nX-Evil: 1"

    (filing,) = bench.file(told(1), token=token)
    assert "token" in filing.failed
    assert "Evil" not in filing.failed
    assert not bench.github.asked


def test_an_answer_that_repeats_the_token_does_not_carry_it_into_the_ledger(bench, told):
    bench.github.rule = lambda asked: Fault("echo") if asked.method == "POST" else None
    (filing,) = bench.file(told(1))
    assert "what is ***?" in filing.failed


def test_writes_are_a_second_apart(bench, told):
    bench.file(*map(told, range(1, 6)))
    at = [asked.at for asked in bench.github.writes()]
    assert all(later - earlier >= 1 for earlier, later in pairwise(at))


def test_a_cancelled_filing_is_taken_up_where_it_was(bench, told):
    async def cut_short():
        task = asyncio.ensure_future(bench.tracker().file([told(n) for n in range(1, 9)]))
        while len(bench.github.issues) < 3:  # noqa: ASYNC110  # they grow in another thread
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cut_short())
    bench.github.list_lag = 1e9
    assert len({filing.ref for filing in bench.file(*map(told, range(1, 9)))}) == 8
    assert len(bench.github.issues) == 8


def test_a_text_that_is_too_long_is_cut_with_a_note_and_keeps_its_fingerprint(bench, told):
    attempts = tuple(
        Attempt(n, Fact.REJECTED, "pytest", "w" * 900, f"evidence {n}") for n in range(200)
    )
    dossier = told(1, attempts=attempts)
    assert len(dossier.body) > BODY_LIMIT
    (filing,) = bench.file(dossier)
    body = bench.github.issues[1]["body"]
    assert filing.ref
    assert len(body) <= BODY_LIMIT
    assert "longer than GitHub takes" in body
    assert body.endswith(dossier.body[dossier.body.index("\n---\n") :])
    assert bench.file(dossier)[0].ref == filing.ref


def test_a_cut_ends_the_block_of_code_that_it_falls_into():
    body = "text\n\n   ````text\n" + "line\n" * 20_000 + "   ````\n\n---\nFiled by punchlist\n"
    lines = fit_body(body, BODY_LIMIT, "GitHub").split("\n")
    assert lines.count("   ````") == 1
    assert lines.index("   ````") < next(
        n for n, line in enumerate(lines) if "longer than GitHub" in line
    )
    assert fit_body("short\n---\nend", BODY_LIMIT, "GitHub") == "short\n---\nend"
