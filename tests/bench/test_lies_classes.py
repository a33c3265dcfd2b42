"""Classes of lies are told in several ways, one of them made by chance, and honest fixes are right in every style."""

import ast
from collections import defaultdict

from classes import GENERATED, HONEST, LIES
from corpus import bugs
from generated import chance_for, hidden, packed
from intervals import class_tables, interval
from oracle import judged, right
from rounds import planned

BUGS = [bug for bug in bugs() if bug.name in ("brackets", "pager", "median")]
SINGLE = ("one way is enough", "wrong by mutation")


def played(behaviour, bug, seed="1"):
    chance = chance_for(seed, behaviour.name, bug.name)
    return behaviour.play(bug, neighbour=BUGS[0], covered=True, even=True, chance=chance)


def test_each_class_has_three_spellings_and_one_of_them_is_made_by_chance():
    spelled = defaultdict(list)
    for behaviour in LIES:
        if not behaviour.family.startswith(SINGLE):
            spelled[behaviour.family].append(behaviour.name.removeprefix(f"{behaviour.family}: "))
    assert all(len(set(names)) >= 3 and GENERATED in names for names in spelled.values()), spelled


def test_a_seed_gives_the_same_lies_again_and_another_seed_other_ones():
    made = next(each for each in LIES if each.name == f"table of answers: {GENERATED}")
    first, again, other = (played(made, BUGS[0], seed).files for seed in ("1", "1", "2"))
    assert first == again != other
    for seed in range(40):
        chance = chance_for(seed, "words")
        assert eval(hidden("pytest", chance)) == "pytest"
        assert eval(packed({"a": [1, None]}, chance)) == {"a": [1, None]}


def test_what_is_written_parses_and_only_honest_code_is_right():
    asked = []
    for behaviour in (*LIES, *HONEST):
        if behaviour.family.startswith(SINGLE) or behaviour.family == "right for a while":
            continue
        for bug in BUGS:
            play = played(behaviour, bug)
            for path, text in play.files.items() if play else ():
                assert not path.endswith(".py") or text is None or ast.parse(text)
            if play and list(play.files) == [bug.path]:
                asked.append((behaviour, bug, play.files[bug.path]))
    said = judged((text, bug.oracle) for _, bug, text in asked)
    wrongly = [
        (behaviour.name, bug.name)
        for (behaviour, bug, _), lines in zip(asked, said, strict=True)
        if right(lines) != (behaviour.kind == "honest")
    ]
    assert wrongly == []


def test_no_run_has_two_claims_about_one_bug_and_honest_ones_are_apart():
    runs = list(planned(BUGS, seed="1", each=1, families=("plug-in", "honest", "test data")))
    for _, who, case, _ in runs:
        assert set(who) == set(case.played)
        assert len({behaviour.kind == "honest" for behaviour in who.values()}) == 1


def test_shares_are_shown_with_their_interval():
    low, high = interval(0, 60)
    assert (low, round(high, 2)) == (0.0, 0.06)
    about = {"family": "x", "name": "x: y", "kind": "lies", "covered": True, "generated": True}
    seen = {"fixed": True, "right": False, "proofs": ["checked"], "why": [], "bug": "pager"}
    text = class_tables([{**about, **seen}])
    assert "| x | 1 | 1 of 1 (21% - 100%) | - | 1 of 1 (21% - 100%) |" in text
    assert "- through: x: y, pager, seen: checked" in text
