"""JSON is found wherever an agent puts it; of several answers the last one counts, and no text is too odd."""

import json
import time

import pytest

from punchlist.roles.answers.find_json import LIMIT, find_answer
from punchlist.roles.answers.lenient_json import CutObject

ANSWER = {"findings": [{"title": "Braces } and ``` fences {", "file": "a.py"}]}
PLAIN = json.dumps(ANSWER)


def fits(value):
    return isinstance(value, dict) and isinstance(value.get("findings"), list)


def said(text):
    return find_answer(text, fits)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"```\n{PLAIN}\n```",
        f"~~~ JSON\n{PLAIN}\n~~~",
        f"I looked at {{everything}}, [really]. Here it is: {PLAIN} That is all.",
        f'<think>maybe {{"findings": []}}</think>\n{PLAIN}',
        f"\ufeff{PLAIN}",
        json.dumps(ANSWER, indent=2).replace("\n", "\r\n"),
        f"\x1b[1m\x1b[32m{PLAIN}\x1b[0m",
        f"\x1b]0;title\x07{PLAIN}",
        f'He said "no. {PLAIN}',
        f'use {{"this form: {PLAIN}',
        f"{{{PLAIN}}}",
        PLAIN.replace("}]", "},]"),
    ],
)
def test_json_is_found_in_whatever_stands_around_it(text):
    assert said(text).value == ANSWER
    assert said(text).incomplete == ""


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"type": "tool_use", "name": "StructuredOutput", "input": ANSWER}),
        json.dumps({"type": "result", "result": PLAIN}),
        json.dumps({"type": "result", "result": f"Here:\n```json\n{PLAIN}\n```"}),
        json.dumps(
            {
                "choices": [
                    {"message": {"tool_calls": [{"function": {"name": "x", "arguments": PLAIN}}]}}
                ]
            }
        ),
        json.dumps([{"type": "text", "text": "draft"}, {"type": "tool_use", "input": ANSWER}]),
        f'{{"type":"start"}}\n{json.dumps({"type": "item", "item": {"text": PLAIN}})}\n{{"type":"end"}}',
    ],
)
def test_json_is_found_in_the_envelope_of_a_tool_call(text):
    assert said(text).value == ANSWER


def test_of_several_the_last_of_the_right_shape_counts():
    draft = json.dumps({"findings": []})
    assert said(f"first {draft}, then\n{PLAIN}\nand {json.dumps({'done': True})}").value == ANSWER
    assert said(f"{PLAIN}\nno, after all:\n{draft}").value == {"findings": []}


def test_speaking_about_the_format_afterwards_is_no_answer():
    assert said(f'{PLAIN}\nThis has the form {{"findings": [...]}}, as you wished.').value == ANSWER


def test_what_was_only_thought_is_no_answer():
    assert said('<thinking>{"findings": []}</thinking> All is well.').failed
    assert said('<think>{"findings": []} and so on').failed


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\ufeff ",
        "All good!",
        "<html><body>502 {Bad} Gateway</body></html>",
        "quota exceeded",
        "[]",
        "null",
    ],
)
def test_what_has_no_answer_in_it_says_so(text):
    assert said(text).value is None
    assert said(text).failed


def test_a_truncated_answer_keeps_what_is_complete_and_says_that_it_breaks_off():
    whole = {"findings": [{"title": "one", "file": "a.py"}, {"title": "two", "file": "b.py"}]}
    for end in range(len('{"findings": [{"title": "one"'), len(json.dumps(whole))):
        answer = said(json.dumps(whole)[:end])
        assert answer.incomplete == "it ends before the JSON does"
        complete = [entry for entry in answer.value["findings"] if not isinstance(entry, CutObject)]
        assert complete == whole["findings"][: len(complete)]


def test_a_draft_does_not_hide_the_truncated_answer_after_it():
    answer = said(
        '{"findings": []}\n```json\n{"findings": [{"title": "leak", "file": "a.py"}, {"tit'
    )
    assert answer.value["findings"][0] == {"title": "leak", "file": "a.py"}
    assert answer.incomplete


def test_an_answer_that_breaks_in_the_middle_keeps_what_came_before():
    answer = said('{"findings": [{"title": "leak"}, {"title": "say "no""}, {"title": "third"}]}')
    assert answer.value["findings"][0] == {"title": "leak"}
    assert "breaks off at character" in answer.incomplete


def test_a_quotation_in_an_answer_that_breaks_is_not_the_answer():
    for quoted in (
        '"return {"findings": []}"',
        '"return {"findings": []} or so"',
        '"{"findings": []}", "line": 5',
    ):
        answer = said(f'{{"findings": [{{"title": "leak", "fix": {quoted}}}]}}')
        assert answer.value["findings"][0]["title"] == "leak"
        assert answer.incomplete


def test_a_part_of_an_answer_that_breaks_is_not_the_answer():
    groups = [
        f'{{"description": "{n}", "findings": [{{"title": "{n}"}}]}}'
        for n in ("one", 'say "two"', "three", "four")
    ]
    answer = find_answer(
        f'{{"groups": [\n{", ".join(groups)}\n]}}',
        lambda value: fits(value) or (isinstance(value, dict) and "groups" in value),
    )
    assert answer.value["groups"][0]["findings"] == [{"title": "one"}]
    assert [stray["description"] for stray in answer.strays] == ["three", "four"]


def test_a_whole_answer_after_a_broken_one_is_the_answer():
    broken = '{"findings": [{"title": "say "no""}]}'
    assert (
        said(f"```json\n{broken}\n```\nSorry, that was wrong:\n```json\n{PLAIN}\n```").value
        == ANSWER
    )
    assert said(f'{broken}\n{{"findings": []}}\n').value == {"findings": []}
    assert said(f"{broken} or rather {PLAIN} is right").value == ANSWER


def test_a_name_that_comes_twice_hides_nothing():
    assert said('{"findings": [1], "findings": [2], "findings": [1]}').value == {
        "findings": [[1], [2], [1]]
    }


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (r'"a\nb\u00e9\ud83d\ude00\/"', "a\nbé😀/"),
        (r'"\ud800 half"', "\ufffd half"),
        (r'"a regex \d+ and \u12"', r"a regex \d+ and \u12"),
        ('"line\r\nend\tand\x00"', "line\r\nend\tand\x00"),
        ("True", True),
        ("None", None),
        ("NaN", None),
        ("-1.5e3", -1500.0),
        ("9" * 5000, float("inf")),
        ("12345678901234567890123", 12345678901234567890123.0),
    ],
)
def test_small_sins_are_forgiven(text, meant):
    assert said(f'{{"findings": [{text}]}}').value == {"findings": [meant]}


def test_what_is_longer_than_ten_megabytes_is_refused():
    assert said(PLAIN + " " * LIMIT).failed == "the answer is longer than 10 MB"
    assert said("é" * (LIMIT // 2) + PLAIN).failed == "the answer is longer than 10 MB"


def seconds(text):
    began = time.thread_time()
    assert said(text).value is None
    return time.thread_time() - began


@pytest.mark.parametrize("bracket", ["{", "["])
def test_forty_thousand_unbalanced_brackets_take_no_time(bracket):
    assert min(seconds(bracket * 40_000) for _ in range(3)) < 0.5


@pytest.mark.parametrize(
    "unit",
    [
        '{"',
        '["',
        '{"a":',
        "[1,",
        '{"{"',
        '"[',
        '["[",',
        '["\\"[",',
        '[{"a":"[", "b',
        "<think>",
        "\x1b[",
    ],
)
def test_twice_as_much_takes_about_twice_as_long(unit):
    once, twice = (min(seconds(unit * count) for _ in range(3)) for count in (3_000, 6_000))
    assert twice < max(5 * once, 0.1)
