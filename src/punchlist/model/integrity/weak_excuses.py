"""Weak reasons that a fixer may not give instead of a fix."""

import re

_WEAK = """
    (out[- ]of|beyond|not in)[- ](the )?scope
    pre-?existing
    (already (there|present|existed)|existed) before
    legacy (code|issue)
    (tak(e|es|ing)|needs?|requires?) (too|so) (long|much (time|effort|work))
    time[- ]consuming
    no(t enough)? time
    too (complex|complicated|difficult|hard|large|big|risky|invasive)
    (separate|different|another|follow-?up|future|later|next|dedicated) (pr|pull request|change)
    (separate|different|another|follow-?up|future|later|next|dedicated) (commit|issue|ticket|task)
    not (my|our) (change|code|problem|concern|responsibility|job)
    (unrelated|not related) to (this|the|my)
    (needs?|requires?|lacks?|without|missing|not enough|more) (context|information)
    (needs?|requires?|lacks?) (more|further|additional|enough) (context|information)
    (without|missing|not enough|more) (more|further|additional|enough) (context|information)
    (needs?|requires?|more|further) ((more|further|additional) )?(investigation|analysis)
    (low|minor|not a) priority
    not (important|critical|worth|necessary)
    nice[- ]to[- ]have
    cosmetic
    be (addressed|fixed|handled|done|resolved|revisited) later
    (leave|left) (it |this )?for later
    \\btodo\\b
    (major|significant|large|big|substantial|extensive) (refactor|rewrite|rework|effort)
    works as (is|intended)
    good enough
    acceptable as
    i (don't|do not|didn't|did not) (know|have time|want)
    unsure
    not sure how
"""
_PATTERNS = tuple(re.compile(line.strip()) for line in _WEAK.strip().splitlines())


def find_excuse(reason: str) -> str:
    """Return the words that make a reason weak, or "". No reason is weak, too."""
    plain = " ".join(reason.casefold().replace("\u2019", "'").split())
    if not plain:
        return "no reason was given"
    found = (pattern.search(plain) for pattern in _PATTERNS)
    return next((match[0] for match in found if match), "")
