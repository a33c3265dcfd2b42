"""What the files of a run keep, wherever they are: test modules import all of it and say where.

They give the fixture `open_files`: each call opens the same files as another machine would.
"""

import threading
from hashlib import sha256

import pytest

from punchlist.errors import StoreError

RUN = "261116-0a1b2c"


def pin(content):
    return sha256(content).hexdigest()


def test_what_was_written_is_read_back_on_every_machine(open_files):
    here, there = open_files(), open_files()
    for name in ("checks/pytest.xml", "a b (1)", "ü/日本%20.x", "x#1", "%23", "a?b=c&d", "it's"):
        for content in (b"\x00<xml/>", b"again", b""):
            where = here.write(name, content)
            assert here.read(name) == there.read(name) == content, name
            assert where == here.locate(name) == there.locate(name)
            assert there.list_sizes()[name] == len(content)
    assert here.read("other") is None
    assert here.read("checks") is None
    assert here.read("checks/pytest.xml/deeper") is None


def test_runs_do_not_see_each_others_files(open_files):
    open_files().write("report.json", b"1")
    assert open_files("261116-0a1b2").read("report.json") is None
    assert open_files("261116-0a1b2").list_sizes() == {}
    assert open_files("261116-0a1b2").remove() is False
    assert open_files().list_sizes() == {"report.json": 1}


def test_the_first_content_of_a_created_file_stays(open_files):
    here, there = open_files(), open_files()
    assert here.create("work/1.json", b"first") is None
    assert there.create("work/1.json", b"second") == b"first"
    assert here.create("work/1.json", b"first") == b"first"
    assert there.read("work/1.json") == b"first"
    there.write("work/1.json", b"third")
    assert here.read("work/1.json") == b"third"


def test_of_many_that_create_a_file_at_once_one_wins_and_all_read_the_same(open_files):
    for name in (f"work/{number}.json" for number in range(10)):
        barrier, told = threading.Barrier(6), {}

        def create(files, mine, name=name, barrier=barrier, told=told):
            barrier.wait()
            told[mine] = files.create(name, mine)

        threads = [
            threading.Thread(target=create, args=(open_files(), f"machine {each}".encode() * 999))
            for each in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (winner,) = [mine for mine, found in told.items() if found is None]
        assert {found for found in told.values() if found is not None} == {winner}
        assert open_files().read(name) == winner


def test_a_file_that_is_not_what_the_ledger_recorded_is_refused(open_files):
    here, there = open_files(), open_files()
    here.write("findings.json", b"as given")
    for each in (here, there):
        each.pin({"findings.json": pin(b"as given"), "gone.json": pin(b"")})
        assert each.read("findings.json") == b"as given"
    open_files().write("findings.json", b"of another")
    fresh = open_files()
    fresh.pin({"findings.json": pin(b"as given")})
    with pytest.raises(StoreError, match=r"findings.json is not what the ledger recorded"):
        fresh.read("findings.json")
    assert open_files().read("findings.json") == b"of another", "an audit reads it as it is"
    assert fresh.read("gone.json") is None


def test_removed_files_are_gone_on_every_machine(open_files):
    here, there = open_files(), open_files()
    for name in ("report.json", "plan/a.json", "calls/x#1.jsonl"):
        here.write(name, b"x")
        assert there.read(name) == b"x"
    assert there.remove() is True
    assert here.remove() is False
    assert (here.list_sizes(), here.read("report.json"), there.read("plan/a.json")) == (
        {},
        None,
        None,
    )


@pytest.mark.parametrize(
    "name",
    [
        *("", "/etc/passwd", "../x", "a/../../x", "a//b", ".hidden", "a/.b", "a\\b", "a\nb"),
        *("a\x00", "x" * 300, "\udc80", "a/"),
    ],
)
def test_no_name_leads_out_of_the_run(open_files, name):
    files = open_files()
    for act in (files.read, files.locate, lambda name: files.write(name, b""), files.create):
        with pytest.raises(StoreError, match="no name for an artifact"):
            act(name, b"x") if act == files.create else act(name)
    assert files.list_sizes() == {}
