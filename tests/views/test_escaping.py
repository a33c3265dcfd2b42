"""No character that acts on the text around it is shown, whatever it is called."""

import re
import sys
import unicodedata

import markdown_it
import pytest

from punchlist.adapters.reports import markdown
from punchlist.cli.show.words import escape_text
from punchlist.roles.prompting.fencing import clean_text
from punchlist.views.escaping import acts_on_text, disarm_links, escape_controls
from punchlist.views.safe_text import safe_text

EVERY = list(map(chr, range(sys.maxunicode + 1)))
ACTING = [
    char
    for char in EVERY
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\t\n\u00ad"
]


def test_every_control_and_format_character_is_made_visible():
    assert "\U0001d173" in ACTING
    shown = escape_controls("".join(f"a{char}b" for char in ACTING if char != "\x1b"))
    assert not any(map(acts_on_text, shown))
    assert "a\u2039U+1D173\u203ab" in shown
    left = set(filter(acts_on_text, escape_text("".join(ACTING))))
    assert left == {"\u200c", "\u200d"}  # they join letters and emoji
    assert escape_text("\U0001d173\u2028") == "\\U0001d173\\u2028"


@pytest.mark.parametrize("clean", [clean_text, safe_text], ids=["prompts", "issues"])
def test_what_people_do_not_see_is_in_no_prompt_and_in_no_issue(clean):
    unseen = [char for char in ACTING if unicodedata.category(char) == "Cf"]
    shown = clean(f"a{''.join(unseen)}b")
    assert shown.replace("\u200c", "").replace("\u200d", "") == "ab"


def test_letters_signs_and_emoji_stay_as_they_are():
    text = "naïve \u05e9\u05dc\u05d5\u05dd 漢字 \u2764\ufe0f \U0001f600 \u00a0 co\u00adop \ue0b0"
    assert escape_controls(text) == escape_text(text) == text
    assert not any(acts_on_text(char) for char in EVERY if char.isprintable())


HOSTILE_LINKS = [
    "[x](javascript:alert(1))",
    "[x]( JaVaScRiPt:alert(1) 'title')",
    "[x](\njavascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](<java\tscript:alert(1)>)",
    "[x](javascript\\:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](java&Tab;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x][y]\n\n[y]: javascript:alert(1)",
    "[y]\n\n[y]:\n  data:text/html,1",
    "[y]\n\n[y]: <javascript:alert(1)>",
    "> [y]: file:///etc/passwd\n\n[y]",
    "[a [b] c](javascript:1)",
    "`` [x](javascript:1) `",
    "<javascript:alert(1)>",
]


@pytest.mark.parametrize("text", HOSTILE_LINKS)
def test_a_link_in_markdown_leads_to_web_and_mail_addresses_and_files_only(text):
    """As CommonMark reads it, with nothing checked by the reader itself."""
    reader = markdown_it.MarkdownIt("commonmark")
    reader.validateLink = lambda url: True
    for safe in (safe_text(text), markdown._disarm_markup(text)):
        addresses = re.findall(r'href="([^"]*)"', reader.render(safe))
        for address in addresses:
            scheme = address.partition(":")[0] if ":" in address.split("/")[0] else ""
            assert "%E2%80%8B" in scheme or not scheme, (safe, address)
    assert safe_text(safe_text(text)) == safe_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://example.org/a:b?c&d)",
        "[x](mailto:ada@example.org)",
        "[x](docs/a.md#b)",
        "[x](#part)",
        "see [1]: https://example.org",
        "a[0]: plain words",
    ],
)
def test_other_links_stay_as_they_are(text):
    assert disarm_links(text) == text
