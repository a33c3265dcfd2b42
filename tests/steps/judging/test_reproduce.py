"""Private tests before the fixing: only what was seen red counts."""

import asyncio
from types import SimpleNamespace

import pytest
from examination import finding
from msgspec.structs import replace

from punchlist.model.checks.protected import Protected
from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.events import Reproduced
from punchlist.ports.roles import Crew, Reproduction, Reproductions
from punchlist.steps.reproduce import Options, Reproduce, choose_path, reproduce_item, step

APP = "def mean(values):\n    return sum(values) / len(values)\n"
OLD = "from app import mean\n\n\ndef test_two():\n    assert mean([1, 3]) == 2\n"
EMPTY = finding("mean() of an empty list crashes")
RED = "from app import mean\n\n\ndef test_empty():\n    assert mean([]) == 0\n"


class Writer:
    """Plays the reproducer: says what it was given."""

    def __init__(self, content: str, path: str = "tests/test_mine.py", failed: str = "") -> None:
        self.said = Reproductions(
            tests=(Reproduction(1, path, content),), agent="scribe", failed=failed
        )

    async def reproduce(self, task, tree):
        assert [item.number for item in task.items] == [1]
        return self.said


@pytest.fixture
def seen(bench):
    made = bench({"app.py": APP, "tests/test_app.py": OLD}, compare=False)

    def look(content: str, **options) -> Reproduced:
        made.crew = Crew(reproducer=Writer(content, **options))
        return asyncio.run(reproduce_item(Reproduce(1, "label"), made.run(EMPTY), made.world))

    return look


def test_a_test_that_fails_on_the_tip_is_red_and_lies_where_nobody_guesses(seen):
    said = seen(RED)
    assert (said.red, said.agent) == (True, "scribe")
    assert said.path.startswith("tests/test_")
    assert "mine" not in said.path


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (OLD, "passes while the finding stands"),
        (
            "from nowhere import mean\n\n\ndef test_it():\n    assert mean([]) == 0\n",
            "cannot be collected",
        ),
        ("def test_it(:\n", "cannot be collected"),
        ("def test_it():\n    import nowhere\n", "ModuleNotFoundError"),
        ("def test_it(no_such_fixture):\n    assert False\n", "fixture"),
        ("def test_it():\n    assert mean([]) == 0\n", "NameError"),
        ("def not_a_test():\n    assert False\n", "no test"),
        (
            "import pytest\n\n\n@pytest.mark.skip\ndef test_it():\n    assert False\n",
            "none of its tests ran",
        ),
    ],
)
def test_a_test_that_shows_nothing_does_not_count(seen, content, why):
    said = seen(content)
    assert not said.red
    assert why in said.why


def test_an_agent_that_fails_gives_no_test_and_the_reason_is_kept(seen):
    said = seen("", failed="it was asked too much")
    assert (said.red, said.why) == (False, "it was asked too much")


def test_private_tests_are_only_asked_for_where_somebody_plays_the_reproducer(bench):
    made = bench({"app.py": APP, "tests/test_app.py": OLD}, compare=False)
    minor = finding("a nit")
    items = (EMPTY, EMPTY, minor)
    assert step(made.run(*items), Options(), "1") == ()
    run = made.run(*items, crew={"reproducer": ("scribe",)}, private={2: Reproduced(item=2)})
    assert [action.key for action in step(run, Options(), "1")] == ["item 1", "item 3"]
    assert [action.key for action in step(run, Options(width=1), "1")] == ["item 1"]


def test_only_what_must_be_fixed_is_asked_for_unless_told_otherwise(bench):
    made = bench({"app.py": APP, "tests/test_app.py": OLD}, compare=False)
    run = made.run(replace(EMPTY, severity=Severity.MINOR), crew={"reproducer": ("scribe",)})
    assert step(run, Options(), "1") == ()
    assert len(step(run, Options(must_fix=False), "1")) == 1


@pytest.mark.parametrize(
    ("offered", "place"),
    [
        ("tests/unit/test_x.py", "tests/unit/test_"),
        ("/etc/test_x.py", "tests/unit/test_"),
        ("../test_x.py", "tests/unit/test_"),
        ("nowhere/test_x.py", "tests/unit/test_"),
        ("web/x.test.ts", "web/p"),
        ("pkg/x_test.go", "pkg/p"),
        ("notes.txt", ""),
    ],
)
def test_the_place_of_a_private_test_is_ours(offered, place):
    tree = SimpleNamespace(
        files=lambda: ["app.py", "tests/unit/test_a.py", "tests/unit/test_b.py", "tests/test_c.py"]
    )
    path = choose_path(Reproduction(1, offered, RED), "r1", tree, Protected())
    assert path.startswith(place)
    assert bool(path) == bool(place)
