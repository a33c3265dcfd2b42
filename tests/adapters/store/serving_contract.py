"""What every state keeps for its servers: test modules import all of it and say which state it is.

They give the fixture `open_state`: each call opens the same state as another process would.
"""

import threading

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from punchlist.ports.serving.access import Role, SignInCode, StoredToken, Visitor
from punchlist.ports.serving.records import KeyRecord, RepositoryEntry

_ODD = "ada \udcff\x00 '%s'"


def token(number, role=Role.RUN, name="ada"):
    return StoredToken(Visitor(f"{number:08x}", role, name), f"{number:064x}")


def repository(number, name="shop"):
    return RepositoryEntry(
        id=f"r{number}",
        name=name,
        root=f"/srv/{_ODD}/{number}",
        git_dir=f"/srv/{_ODD}/{number}/.git",
    )


def at_once(*works):
    """Do all of it in threads that begin together; return what they returned."""
    found, gate = {}, threading.Barrier(len(works))

    def do(index, work):
        gate.wait()
        found[index] = work()

    threads = [threading.Thread(target=do, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[index] for index in range(len(works))]


def test_a_token_counts_in_every_server_until_it_is_dropped(open_state):
    mine, others = open_state().access, open_state().access
    first, second = token(1, Role.ADMIN, _ODD), token(2, Role.READ)
    assert others.list_tokens() == ()
    for each in (first, second):
        mine.add_token(each)
    assert others.list_tokens() == (first, second)
    assert others.find_by_hash(first.hash) == others.find_by_id(first.visitor.id) == first
    assert others.find_by_hash("f" * 64) is None
    assert (others.drop_token(first.visitor.id), mine.drop_token(first.visitor.id)) == (True, False)
    assert mine.find_by_hash(first.hash) is mine.find_by_id(first.visitor.id) is None
    assert mine.list_tokens() == (second,)


def test_a_temporary_token_is_in_no_list_and_ends_with_its_process(open_state):
    state = open_state()
    state.access.add_token(token(1), temporary=True)
    state.access.add_token(token(2), temporary=True)
    assert state.access.find_by_hash(token(1).hash) == token(1)
    assert state.access.find_by_id(token(2).visitor.id) == token(2)
    assert state.access.list_tokens() == ()
    state.close()
    after = open_state().access
    assert after.find_by_hash(token(1).hash) is after.find_by_id(token(2).visitor.id) is None


def test_tokens_that_servers_make_at_once_are_all_kept(open_state):
    states = [open_state() for _ in range(4)]
    at_once(
        *(lambda each=each, n=n: each.access.add_token(token(n)) for n, each in enumerate(states))
    )
    assert {each.visitor.id for each in states[0].access.list_tokens()} == {
        token(number).visitor.id for number in range(4)
    }


def test_cookies_are_signed_with_one_key_in_all_servers(open_state):
    keys = at_once(*(open_state().access.load_key for _ in range(4)))
    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert keys[0] != bytes(32)


def test_a_session_that_was_signed_out_has_ended_in_every_server(open_state):
    mine, others = open_state().access, open_state().access
    assert not others.has_ended("s1"), "both have looked before"
    assert not mine.has_ended("s1")
    mine.end_session("s1", 1000.0, 2000.0)
    assert (others.has_ended("s1"), others.has_ended("s2")) == (True, False)
    others.end_session("s2", 1999.0, 3000.0)
    assert (mine.has_ended("s1"), mine.has_ended("s2")) == (True, True)
    others.end_session("s3", 2001.0, 3000.0)
    assert (mine.has_ended("s1"), mine.has_ended("s2")) == (False, True), "s1 has expired by itself"


def test_a_sign_in_code_is_taken_once(open_state):
    access = open_state().access
    access.add_code("c1", SignInCode("00000001", 12.5))
    taken = at_once(*(lambda: access.take_code("c1") for _ in range(4)))
    assert sorted(taken, key=bool) == [None, None, None, SignInCode("00000001", 12.5)]
    assert access.take_code("c2") is None


def test_repositories_are_listed_by_registration_in_every_server(open_state):
    mine, others = open_state().repositories, open_state().repositories
    for number in (1, 2):
        mine.add(repository(number))
    others.add(repository(1, "renamed"))
    assert mine.list_all() == (repository(2), repository(1, "renamed"))
    assert (others.remove("r2"), mine.remove("r2")) == (True, False)
    assert others.list_all() == (repository(1, "renamed"),)


def test_repositories_that_are_registered_at_once_are_all_kept(open_state):
    states = [open_state() for _ in range(4)]
    at_once(
        *(lambda s=s, n=n: s.repositories.add(repository(n)) for n, s in enumerate(states)),
        lambda: states[0].repositories.add(repository(9)),
    )
    assert {each.id for each in states[0].repositories.list_all()} == {"r0", "r1", "r2", "r3", "r9"}


def test_what_is_allowed_in_a_repository_is_allowed_in_no_other_and_revoked_everywhere(open_state):
    mine, others = open_state().allowances, open_state().allowances
    mine.grant("a", "x", "y")
    others.grant("a", "y", "z")
    others.grant("b", "x")
    assert mine.list_granted("a") == {"x", "y", "z"}
    mine.revoke("a")
    assert (others.list_granted("a"), others.list_granted("b")) == (frozenset(), {"x"})


def test_allowances_that_are_given_at_once_are_all_kept(open_state):
    states = [open_state() for _ in range(4)]
    at_once(*(lambda s=s, n=n: s.allowances.grant("a", f"{n}") for n, s in enumerate(states)))
    assert states[0].allowances.list_granted("a") == {"0", "1", "2", "3"}


def test_of_servers_that_claim_a_key_at_once_one_names_the_run(open_state):
    states = [open_state() for _ in range(4)]
    records = at_once(
        *(
            lambda s=s, n=n: s.keys.claim("k", KeyRecord(f"h{n}", f"run-{n}"))
            for n, s in enumerate(states)
        )
    )
    assert len(set(records)) == 1
    assert {state.keys.read("k") for state in states} == set(records)
    assert states[0].keys.read("another") is None


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(key=st.text(st.characters(codec=None), min_size=1, max_size=30))
def test_any_text_is_a_key(open_state, key):
    keys = open_state().keys
    kept = keys.claim(key, KeyRecord("h", f"run of {len(key)}"))
    assert keys.read(key) == kept
