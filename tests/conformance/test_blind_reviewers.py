"""A reviewer that cannot look, at a file or at all, proves nothing by its silence."""

import pytest
from msgspec.structs import replace
from scripted import MAJOR, MINOR, Said, Watch, Words, finding

from punchlist.model.item.item import Fact, Status
from punchlist.ports.analyzer import Analysis

TWICE = "steps:\n  - review: {}\n  - consolidate: {}\n  - review: {}\n  - consolidate: {}\n  - report: {}\n"


class Shy(Words):
    """Cannot read files in which a certain word stands."""

    stumbles = "stone"
    says_where = True

    async def analyze(self, tree, paths):
        said = await super().analyze(tree, paths)
        unread = tuple(path for path in tree.files() if self.stumbles in tree.text(path))
        known = tuple(each for each in said.findings if each.spot.path not in unread)
        return replace(
            said, findings=known, unread=unread if self.says_where else ("",) * bool(unread)
        )


def why(run, number):
    return [attempt.why for attempt in run.items[number].attempts if attempt.fact is Fact.REJECTED]


def by_rule(run):
    return {item.lead.rule: item for item in run.items.values()}


@pytest.mark.parametrize("says_where", [True, False])
def test_an_item_is_not_fixed_by_another_tools_fix_that_keeps_its_own_from_reading(
    make_bench, says_where
):
    careful = Shy("careful", evil=(MAJOR, None))
    careful.says_where = says_where
    bench = make_bench(
        {"a.py": "evil = 1\npebble = 2\n"}, careful, Words("bold", pebble=(MINOR, "stone"))
    )
    run = bench.run()
    items = by_rule(run)
    assert items["pebble"].status is Status.FIXED
    assert items["evil"].status is not Status.FIXED
    assert run.reviewing.reviews["careful"].unread == (("a.py",) if says_where else ("",))


def test_a_fix_after_which_its_tool_cannot_read_the_file_does_not_land(make_bench):
    bench = make_bench(
        {"a.py": "pebble = 1\n", "b.py": "gravel = 1\n"},
        Shy(pebble=(MINOR, "stone"), gravel=(MINOR, "sand")),
    )
    run = bench.run()
    items = by_rule(run)
    assert why(run, items["pebble"].number) == [
        "words could not look again: it could not read a.py"
    ]
    assert (items["pebble"].status is Status.FIXED, items["gravel"].status) == (False, Status.FIXED)


def test_a_tool_that_does_not_say_what_it_could_not_read_confirms_nothing(make_bench):
    tool = Shy(pebble=(MINOR, "stone"), gravel=(MINOR, "sand"))
    tool.says_where = False
    run = make_bench({"a.py": "pebble = 1\n", "b.py": "gravel = 1\n"}, tool).run()
    assert not run.find_items(Status.FIXED)


def test_a_fix_that_keeps_another_tool_from_reading_its_file_goes_back(make_bench):
    careful = Shy("careful", gravel=(MINOR, "sand"))
    bench = make_bench(
        {"a.py": "pebble = 1\n", "b.py": "gravel = 1\n"},
        careful,
        Words("bold", pebble=(MINOR, "stone")),
    )
    run = bench.run()
    items = by_rule(run)
    assert why(run, items["pebble"].number) == ["keeps careful from reading a.py"]
    assert items["gravel"].status is Status.FIXED


def test_who_never_could_read_a_file_does_not_keep_others_from_mending_it(make_bench):
    careful = Shy("careful", gravel=(MINOR, "sand"))
    bench = make_bench(
        {"a.py": "pebble = stone\n", "b.py": "gravel = 1\n"},
        careful,
        Words("bold", pebble=(MINOR, "x")),
    )
    assert {item.status for item in bench.run().items.values()} == {Status.FIXED}


def interrupted(bench, workflow, key):
    """The run as it stands when the process dies right after an entry."""

    class Killed(BaseException):
        pass

    def kill(entry, run):
        if entry.key == key:
            raise Killed

    with pytest.raises((Killed, BaseExceptionGroup)):
        bench.run(workflow, Watch(kill))


def test_a_reviewer_that_is_gone_when_the_run_goes_on_confirms_nothing(make_bench):
    bench = make_bench({"a.py": "pebble = 1\n"}, Words(pebble=(MINOR, "sand")))
    interrupted(bench, "", "edits")
    bench.reviewers = {}
    run = bench.resume("r1")
    assert why(run, 1)[:1] == ["words could not look again: it is not there any more"]
    assert not run.find_items(Status.FIXED)


def test_a_document_is_heard_once_however_often_there_is_a_review(make_bench):
    bench = make_bench({"a.py": "x\n"})
    bench.documents = {"document": Said(finding(1))}
    run = bench.run(TWICE)
    assert (run.reviewing.reported, len(run.items), run.trouble) == (1, 1, ())


def test_a_document_that_was_heard_is_not_asked_for_when_the_run_goes_on(make_bench):
    bench = make_bench({"a.py": "x\n"})
    bench.documents = {"document": Said(finding(1))}
    interrupted(bench, TWICE, "items")
    bench.documents = {}
    run = bench.resume("r1")
    assert (run.reviewing.reported, run.trouble, bool(run.ended)) == (1, (), True)


def test_a_tool_that_has_something_new_to_say_each_time_confirms_nothing(make_bench):
    class Restless(Words):
        async def analyze(self, tree, paths):
            said = await super().analyze(tree, paths)
            fixed = [path for path in tree.files() if "sand" in tree.text(path)]
            news = [
                finding(1, path, 1, MAJOR, id="", source="words", title="oh", rule="news")
                for path in fixed[:1]
            ]
            return Analysis(findings=(*said.findings, *news), looked_at=1)

    files = {f"{name}.py": "pebble = 1\n" for name in "abcdefgh"}
    assert not make_bench(files, Restless(pebble=(MINOR, "sand"))).run().find_items(Status.FIXED)
