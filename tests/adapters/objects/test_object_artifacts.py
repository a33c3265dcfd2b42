"""Files of runs in an object store, in a folder and on a real S3 server, keep the contract."""

import pytest
from artifacts_contract import *  # noqa: F403 - all tests of the contract
from artifacts_contract import RUN, pin

from punchlist.adapters.objects.artifacts import ObjectStore
from punchlist.adapters.objects.bucket import Bucket
from punchlist.adapters.objects.cache import ObjectCache
from punchlist.errors import StoreAway, StoreError
from s3_server import run_s3


@pytest.fixture(scope="module")
def s3():
    with run_s3() as server:
        yield server


@pytest.fixture(params=["folder", "s3"])
def url(request, tmp_path, monkeypatch):
    """The address of an empty place."""
    if request.param == "folder":
        return f"file://{tmp_path}/shared%20place"
    for name, value in request.getfixturevalue("s3").keys.items():
        monkeypatch.setenv(name, value)
    return f"s3://objects/{abs(hash(request.node.nodeid))}"


@pytest.fixture
def open_store(url, tmp_path):
    """Open the store as a machine with a cache of its own."""
    machines = iter(range(1000))

    def open_one(limit=1 << 20):
        bucket = Bucket(url, allow_http=True, patience=20)
        return ObjectStore(bucket, ObjectCache(tmp_path / f"cache{next(machines)}", limit))

    return open_one


@pytest.fixture
def open_files(open_store):
    return lambda run=RUN: open_store().open(run, print)


def test_runs_with_files_are_listed(open_store):
    assert open_store().list_runs() == frozenset()
    for run in (RUN, "261116-000000"):
        open_store().open(run, print).write("calls/a.jsonl", b"x")
    assert open_store().list_runs() == {RUN, "261116-000000"}


def test_what_the_ledger_pinned_is_read_without_the_store(s3, monkeypatch, tmp_path):
    for name, value in s3.keys.items():
        monkeypatch.setenv(name, value)
    bucket = Bucket("s3://objects/pinned", allow_http=True, patience=0)
    files = ObjectStore(bucket, ObjectCache(tmp_path, 1 << 20)).open(RUN, print)
    files.write("baseline.json", b"green")
    files.pin({"baseline.json": pin(b"green")})
    s3.stop()
    try:
        assert files.read("baseline.json") == b"green"
        with pytest.raises(StoreAway, match=r"s3://objects/pinned cannot be read"):
            files.read("another.json")
    finally:
        s3.start()


def test_a_store_that_is_away_is_waited_for_and_nothing_is_lost(s3, monkeypatch, tmp_path):
    for name, value in s3.keys.items():
        monkeypatch.setenv(name, value)
    bucket = Bucket("s3://objects/away", allow_http=True)
    told = []

    def tell(text):
        told.append(text)
        if "does not answer" in text:
            s3.start()

    files = ObjectStore(bucket, ObjectCache(tmp_path, 1 << 20)).open(RUN, tell)
    files.write("before", b"1")
    s3.stop()
    assert files.create("work.json", b"paid for") is None
    assert told == [
        "s3://objects/away does not answer; it is tried for 60 s",
        "s3://objects/away answers again",
    ]
    assert (files.read("before"), files.read("work.json")) == (b"1", b"paid for")


def test_a_refusal_is_told_at_once_and_without_the_keys(s3, monkeypatch, tmp_path):
    for name, value in s3.keys.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    bucket = Bucket("s3://objects/refused", allow_http=True, patience=3600)
    files = ObjectStore(bucket, ObjectCache(tmp_path, 1 << 20)).open(RUN, pytest.fail)
    for act in (files.list_sizes, lambda: files.write("a", b""), lambda: files.read("a")):
        with pytest.raises(StoreError, match=r"s3://objects/refused cannot be") as refused:
            act()
        assert not isinstance(refused.value, StoreAway), "the same answer would come again"
        assert "secret" not in str(refused.value)


def test_copies_stay_within_their_bound_and_the_least_recently_used_go(tmp_path):
    limit = 64_000
    cache = ObjectCache(tmp_path, limit)
    contents = {f"o{number}": bytes([number]) * 4000 for number in range(40)}
    for name, content in contents.items():
        cache.put(name, content, "v")
        assert cache.get("o0").content == contents["o0"], "it is used all the time"
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= limit
    kept = [name for name in contents if cache.get(name)]
    assert kept[0] == "o0"
    assert kept[1:] == [f"o{number}" for number in range(41 - len(kept), 40)]
    assert len(kept) > 10
    cache.put("o39", b"x" * limit, "v")
    assert cache.get("o39") is None, "an object that is too large is no copy of an older one either"


def test_a_copy_that_was_damaged_is_none(tmp_path):
    cache = ObjectCache(tmp_path, 10_000)
    cache.put("a", b"content", "v")
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get("a") is None
    assert ObjectCache(tmp_path / "none", 0).get("a") is None
