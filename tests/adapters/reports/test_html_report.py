"""The HTML page: one file, no requests, no text that acts."""

import re
import time
from html.parser import HTMLParser

import pytest

from punchlist.adapters.reports import html
from punchlist.views.escaping import escape_controls, web_address

VOID = {"meta", "link", "input", "br", "path", "rect"}


class Page(HTMLParser):
    """Counts tags, keeps attributes and text, and insists that every tag is closed."""

    def __init__(self, source: bytes) -> None:
        super().__init__()
        self.tags, self.attributes, self.text, self._stack = [], [], [], []
        self.feed(source.decode("utf-8"))
        assert self._stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]
        if tag not in VOID:
            self._stack.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._stack.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._stack.pop()

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_well_formed(run, unverified, nasty):
    for each in (run, unverified, nasty):
        assert "main" in Page(html.render(each)).tags


def test_it_asks_nothing_of_the_network(run):
    page = Page(html.render(run))
    assert not {"img", "iframe", "object", "embed", "video", "audio"} & set(page.tags)
    sources = [
        value
        for tag, name, value in page.attributes
        if name in ("src", "srcset") or (tag == "link" and name == "href")
    ]
    assert all(value.startswith("data:") for value in sources)
    assert "@import" not in html.render(run).decode()
    assert "url(" not in html.render(run).decode()


def test_only_our_own_script_may_run(run):
    page = Page(html.render(run))
    policy = next(
        value
        for tag, name, value in page.attributes
        if tag == "meta" and name == "content" and "default-src" in value
    )
    assert policy.startswith("default-src 'none';")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}';", policy)


def test_hostile_text_is_shown_and_does_nothing(nasty):
    source = html.render(nasty)
    page = Page(source)
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert not [
        value
        for _, name, value in page.attributes
        if name == "href" and not value.startswith(("#", "data:", "https://", "http://"))
    ]
    assert "<script>alert(1)</script>" in "".join(page.text)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", source.decode("utf-8")
    )
    assert "\u2039U+202E\u203a" in source.decode()


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:x",
        " https://x.example",
        "data:text/html,x",
        "//x.example",
        "https:///x",
        "https://x.example/\u202e",
        "file:///etc/passwd",
        "http://[",
    ],
)
def test_an_address_that_is_not_plainly_of_the_web_is_no_link(url):
    assert web_address(url) == ""


def test_colours_are_taken_off_and_other_controls_are_shown():
    assert (
        escape_controls("\x1b[31mred\x1b[0m and \x1b[2J\r\nnext\tline")
        == "red and \u2039U+001B\u203a[2J\nnext\tline"
    )
    assert escape_controls("a\u061cb\u2067c") == "a\u2039U+061C\u203ab\u2039U+2067\u203ac"


def test_the_fix_that_landed_is_shown_as_a_diff_and_a_rejected_one_is_called_so(run):
    text = html.render(run).decode()
    item = text[text.index('id="i2"') : text.index("</details>\n", text.index('id="i2"'))]
    assert "The fix, in" in item
    assert 'class="l d" data-n="7">def total(items, discounts=[]):' in item
    rejected = text[text.index('id="i11"') :]
    assert "A fix that was tried and did not land" in rejected[:6000]


def test_an_item_that_vanished_with_other_fixes_shows_no_diff_of_its_own(run):
    text = html.render(run).decode()
    item = text[text.index('id="i13"') : text.index("<h4>Proof</h4>", text.index('id="i13"'))]
    assert "The code" in item
    assert "The fix, in" not in item


def test_what_stands_in_backticks_is_shown_as_code_and_is_still_escaped():
    assert (
        str(html._format_code("use `a<b>` and ```x``` or `"))
        == "use <code>a&lt;b&gt;</code> and ```x``` or `"
    )


def test_the_board_links_to_every_item(run):
    page = Page(html.render(run))
    ids = {value for _, name, value in page.attributes if name == "id"}
    links = {
        value[1:]
        for tag, name, value in page.attributes
        if tag == "a" and name == "href" and value.startswith("#")
    }
    assert {f"i{number}" for number in run.items} <= ids & links
    assert links <= ids


def test_everything_can_be_read_without_scripts(run):
    page = Page(html.render(run))
    hidden = [tag for tag, name, _ in page.attributes if name == "hidden"]
    assert hidden == ["button", "form"], "only the filters and the theme button wait for the script"


def test_the_cost_of_the_page_grows_with_the_number_of_items(make_crowd):
    html.render(make_crowd(10))

    def cost(count: int) -> float:
        run = make_crowd(count)
        began = time.process_time()
        html.render(run)
        return time.process_time() - began

    assert cost(1600) < 16 * max(cost(400), 0.02)


def test_the_same_evidence_is_shown_once(run):
    from msgspec.structs import replace

    twin = replace(run.items[11], number=99)
    text = html.render(replace(run, items={**run.items, 99: twin})).decode()
    assert text.count("where False = is_big(Order(total=2000))") == 1
    assert 'Same evidence as <a href="#i11">item 11</a>' in text
