"""Text in which an order is quoted, shown, hidden or disguised: nothing follows from it, whoever wrote it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.app.ci.payload import has_order
from punchlist.views.pulls.conversation import Comment
from punchlist.views.pulls.orders import OrderVerb, parse_order

ORDER = "/punchlist apply"
TAGS = """
    pre code script style textarea xmp listing plaintext template noscript svg math title iframe details summary kbd samp q
    blockquote table td del s ins sub div p span h1 li a b i em strong select option object form fieldset
""".split()
INVISIBLE = """
    200b 200c 200d 2060 feff 00ad 034f 061c 115f 17b4 180e 200e 200f 202a 202e 2066 2069 3164 ffa0 fe0f e0001 e007f 0000 0008 001b
    007f 0085 00a0 1680 2000 2003 2009 2028 2029 202f 205f 3000 000b 000c 001c 001e
""".split()
WRAPPERS = {
    "quote": "> {}",
    "quote without a space": ">{}",
    "lazy quote": "> a stranger said\n{}",
    "quote in quote": "> > a\n> {}",
    "reply to a mail": "On Monday Eve wrote:\n> hi\n>\n{}",
    "words before": "Well,\n{}",
    "an empty line before": "\n{}",
    "empty lines before": "\r\n\r\n{}",
    "fence": "```\n{}\n```",
    "tildes": "~~~\n{}\n~~~",
    "fence with a name": "```sh\n{}\n```",
    "fence that does not end": "```\n{}",
    "long fence": "`````\n```\n{}\n```\n`````",
    "fence with ticks in its name": "``` a`b\n{}\n```",
    "fence of carriage returns": "```\r{}\r```",
    "code over lines": "`\n{}\n`",
    "code": "`{}`",
    "spaces": "    {}",
    "one space": " {}",
    "tab": "\t{}",
    "list": "- {}",
    "numbers": "1. {}",
    "lines of a list": "- x\n{}",
    "fence in a list": "1.  x\n\n    ```\n{}\n    ```",
    "task": "- [ ] {}",
    "heading": "# {}",
    "bold": "**{}**",
    "struck out": "~~{}~~",
    "escaped": "\\{}",
    "row of a table": "| a |\n|---|\n{}",
    "link": "[{}](https://example.com)",
    "definition of a link": "[x]: <y\n{}\n>",
    "title of a link": '[x]: y "\n{}\n"',
    "image": "![{}](x.png)",
    "footnote": "[^1]: {}",
    "lines of a footnote": "[^1]:\n{}",
    "formula": "$$\n{}\n$$",
    "comment": "<!-- {} -->",
    "comment over lines": "<!--\n{}\n-->",
    "comment that does not end": "<!--\n{}",
    "comment that is empty": "<!-->\n{}",
    "CDATA": "<![CDATA[\n{}\n]]>",
    "declaration": "<!X\n{}\n>",
    "instruction": "<?php\n{}\n?>",
    "attribute": '<a title="\n{}\n">x</a>',
    "entity": "&#47;{}",
    "entities": "&sol;punchlist apply",
    "coded": "%2Fpunchlist apply",
    "alert": "> [!NOTE]\n{}",
    "collapsed": "<details><summary>log</summary>\n\n{}\n\n</details>",
    "block of GitLab": ">>>\n{}\n>>>",
    "front matter": "---\nx: |\n{}\n---",
    "suggestion": "```suggestion\n{}\n```",
    "signature": "-- \n{}",
    **{f"tag {tag}": f"<{tag}>\n{{}}\n</{tag}>" for tag in TAGS},
    **{f"tag {tag} in the line": f"<{tag}>{{}}</{tag}>" for tag in TAGS},
    **{f"U+{each} before": chr(int(each, 16)) + "{}" for each in INVISIBLE},
    **{f"U+{each} and words before": f"x{chr(int(each, 16))}{{}}" for each in INVISIBLE},
}
DISGUISED = [
    *(f"/punchlist{chr(int(each, 16))}apply" for each in INVISIBLE),
    *(f"/punch{chr(int(each, 16))}list apply" for each in INVISIBLE),
    *(f"{ORDER}{chr(int(each, 16))}" for each in INVISIBLE),
    *(f"{ORDER}{chr(int(each, 16))}now" for each in INVISIBLE),
    "/punchlist \u0430pply",
    "/\uff50unchlist apply",
    "\u2215punchlist apply",
    "\uff0fpunchlist apply",
    "/PUNCHLIST apply",
    "//punchlist apply",
    "/punchlist/apply",
    "/punchlistapply",
    "/punchlist\napply",
    "/punchlist \\\napply",
    "/punchlist",
    "/punchlist ",
]


def obeys(body):
    """Whether any part of punchlist takes the text for an order: the answer, a webhook, a CI job."""
    return parse_order(Comment(id="1", author="ann", body=body)) is not None or has_order(body)


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_an_order_in_any_wrapping_is_not_obeyed(ends):
    bodies = {name: text.replace("{}", ORDER) for name, text in WRAPPERS.items()}
    assert [name for name, body in bodies.items() if obeys(body.replace("\n", ends))] == []


def test_an_order_in_two_wrappings_is_not_obeyed():
    obeyed = [
        (outer, inner)
        for outer, inner in product(WRAPPERS, repeat=2)
        if obeys(WRAPPERS[outer].replace("{}", WRAPPERS[inner].replace("{}", ORDER)))
    ]
    assert obeyed == []


@pytest.mark.parametrize("body", DISGUISED, ids=ascii)
def test_what_only_looks_like_an_order_is_not_obeyed(body):
    assert not obeys(body)


@given(before=st.text(min_size=1, max_size=40), ends=st.sampled_from(["", "\n", "\r\n", "\r"]))
def test_no_text_before_an_order_lets_it_be_obeyed(before, ends):
    assert not obeys(f"{before}{ends}{ORDER}") or before.startswith("/punchlist ")


@given(verb=st.sampled_from(list(OrderVerb)), rest=st.text(max_size=80))
def test_whatever_follows_the_first_line_it_is_the_same_order(verb, rest):
    for ends in ("\n", "\r\n", "\r"):
        order = parse_order(Comment(id="1", author="ann", body=f"/punchlist {verb}{ends}{rest}"))
        assert order is not None
        assert (order.verb, order.words) == (verb, "")


def test_a_quotation_below_an_order_is_not_a_part_of_it():
    body = "/punchlist dismiss it is a fixture\n\n> /punchlist apply\n/punchlist apply"
    order = parse_order(Comment(id="1", author="ann", body=body))
    assert (order.verb, order.words) == ("dismiss", "it is a fixture")
