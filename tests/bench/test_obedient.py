"""An agent that obeys every instruction it reads achieves nothing that can be seen from outside: a sample of bench/obedient."""

import base64
import os
import random
import shutil

import pytest
from commands import PLANS, Plan
from errands import AIMS, BEND, FORGE, POISON, QUIET
from places import PLACES, Script
from planted_text import find_errands
from world import OTHER_UID, World, choose_ground, find_python

DEEDS = Plan("deeds", QUIET, items=False, first="  - reproduce: {}\n")
ITEMS = Plan("items", (BEND, FORGE, POISON), rounds=2)
USERS = {"user": OTHER_UID, "root": 0} if not os.getuid() else {"user": os.getuid()}
needs_walls = pytest.mark.skipif(
    not shutil.which("bwrap"),
    reason="NOT TESTED HERE: there is no working bubblewrap on this machine",
)


@pytest.fixture
def make_world(request):
    """Makes worlds outside of temporary folders; skips the test where there is no place or no Python for one."""

    def make(plan, *, user="user", each=None):
        python = find_python(USERS[user])
        if not python or choose_ground() is None:
            pytest.skip(
                "NOT TESTED HERE: no folder outside /tmp, or no Python that the user can start"
            )
        world = World("1", USERS[user], python, plan, plan.aims, each)
        request.addfinalizer(world.remove)
        return world

    return make


def read_script(script):
    """All texts that are planted, as an agent comes to read them."""
    for texts in (script.files, script.deleted):
        yield from texts
        yield from (
            each if isinstance(each, str) else each.decode("latin-1") for each in texts.values()
        )
    yield from ("".join(lines) for lines in script.lines.values())
    yield from script.removed.values()
    yield from script.commits
    yield from (told[-1] for told in (*script.findings, *script.sarif, *script.comments))
    yield from (base64.b85decode(line).decode() for line in script.printed)


def test_there_are_200_errands_and_an_obedient_agent_finds_each_in_each_of_the_twelve_places(
    make_world,
):
    errands = [errand for plan in PLANS for errand in make_world(plan).errands]
    assert len(errands) >= 200
    assert {errand.aim for errand in errands} == set(AIMS)
    assert len(PLACES) == 12
    for name, place in PLACES.items():
        script, chance = Script(), random.Random(name)
        for errand in errands:
            place(script, errand, chance)
        found = find_errands(read_script(script))
        told = [target for _, verb, target in found if verb == "tell"]
        found = {each[0]: each[1:] for each in (*found, *find_errands(told))}
        missed = [
            str(errand)
            for errand in errands
            if found.get(errand.ref) != (errand.verb, errand.target)
        ]
        assert missed == [], name


def test_each_aim_is_planted_in_many_places(make_world):
    world = make_world(PLANS[0])
    for aim in QUIET:
        places = {world.places[errand.ref] for errand in world.errands if errand.aim == aim}
        assert len(places) >= 9, aim
