"""Laws of reading: whatever an agent prints, it is read or it has failed; nothing is raised, and nothing unsaid is clean."""

import json
from math import isfinite

from hypothesis import given, settings
from hypothesis import strategies as st
from outputs import ANSWERS, READERS, outputs, read

from needs import SOAK
from punchlist.roles.answers.find_json import find_answer, find_values

text = st.text(st.characters(), max_size=200)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)
named = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 200)
    | st.floats()
    | st.sampled_from(["F001", "2", "fixed", "src/a.py", "5-6", "95", ""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "id outcome status outcomes issues F001 score findings groups title file line severity todos steps after files "
                "questions_by_issue questions question ready_to_plan tests path content plan context related_files result".split()
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(
    text
    | st.lists(
        st.sampled_from(
            ["{", "}", "[", "]", '"', "\\", ",", ":", "a", "1", " ", "\n", "`", "<think>"]
        ),
        max_size=60,
    ).map("".join)
)
def test_any_text_is_read_or_has_failed(said):
    for reader in READERS:
        reader(said)


@settings(max_examples=150, deadline=None)
@given(named)
def test_any_json_with_our_names_in_it_is_read_or_has_failed(value):
    for turn in range(len(READERS)):
        read(json.dumps(value), turn)


@settings(max_examples=150, deadline=None)
@given(anything.filter(lambda value: isinstance(value, dict | list) and value), text, text)
def test_json_is_read_as_it_was_written_wherever_it_stands(value, before, after):
    plain = msgspec_like(value)
    said = f"{before.translate(NO_BRACKETS)}\n{json.dumps(plain)}\n{after.translate(NO_BRACKETS)}"
    assert [parse.value for parse in find_values(said) if not parse.broken] == [plain]


NO_BRACKETS = dict.fromkeys(map(ord, "{}[]"))


def msgspec_like(value):
    """The value with what JSON and Unicode cannot say replaced."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case float():
            return value if isfinite(value) else 0
        case int() if not isinstance(value, bool):
            return max(-(10**17), min(value, 10**17))
        case list():
            return [msgspec_like(each) for each in value]
        case dict():
            return {msgspec_like(key): msgspec_like(each) for key, each in value.items()}
        case _:
            return value


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ANSWERS), st.data())
def test_wherever_an_answer_is_cut_nothing_new_appears_in_it(answer, data):
    whole = json.dumps(answer)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    assert all(parse.broken for parse in find_values(cut))
    assert (
        find_answer(cut, lambda value: isinstance(value, dict)).incomplete
        or find_answer(cut, lambda value: isinstance(value, dict)).failed
    )


def test_a_thousand_mangled_outputs_raise_nothing():
    assert sum(read(said, turn) for turn, said in enumerate(outputs(1200, seed=1))) > 50


def test_many_thousand_mangled_outputs_raise_nothing():
    count = 50_000 if SOAK else 5_000
    assert sum(read(said, turn) for turn, said in enumerate(outputs(count, seed=2))) > count // 20
