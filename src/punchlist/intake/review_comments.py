"""Findings in comments of people and bots on a pull request."""

import re

from punchlist.model.finding.severity import parse_severity

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DETAILS = re.compile(r"<details\b.*?</details>", re.DOTALL | re.IGNORECASE)
_SUGGESTION = re.compile(
    r"^ {0,3}(?P<fence>`{3,})suggestion[^\n]*\n(?P<text>.*?)^ {0,3}(?P=fence)`* *$",
    re.DOTALL | re.MULTILINE,
)
_IMAGE = re.compile(r"!\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\)")
_LINK = re.compile(r"\[(?P<text>[^\]\n]{1,300})\]\([^)\n]{0,2000}\)")
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,500}>")
_MARKUP = re.compile(r"[*_~`#>|\s]+|:[a-z_]{2,40}:|[^\w\s.,:;()/+-]")
_LABEL = re.compile(
    r"[\[(*_`\s]{0,5}(?P<word>nit|nitpick|minor|major|critical|blocker|high|medium|low|p[0-4]"
    r"|bug|issue|suggestion|warning|error|todo|fixme)[\])*_`\s]{0,5}(?P<end>[:\])-])[\s*_`]{0,5}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_BADGE_WORDS = 6
_TITLE = 200
_LONGEST = 20_000


def parse_comment(body: str) -> dict[str, str]:
    """Return title, description, severity and suggestion of a comment, as the fields of an entry of
    a findings file; {} if it says nothing.
    """
    plain = _HIDDEN.sub("", body[:_LONGEST].replace("\r\n", "\n"))
    suggestions = [found["text"].rstrip("\n") for found in _SUGGESTION.finditer(plain)]
    said = _SUGGESTION.sub("", plain)
    said = _TAG.sub("", _IMAGE.sub("", _DETAILS.sub("", said)))
    said = _LINK.sub(r"\g<text>", said).strip()
    severity, lines = "", [line.strip() for line in said.split("\n")]
    while lines and (not lines[0] or (word := _parse_badge(lines[0]))):
        severity = severity or (word if lines[0] else "")
        lines.pop(0)
    title = _parse_title(lines[0]) if lines else ""
    if label := _LABEL.match(title):
        severity = severity or label["word"]
        title = title[label.end() :] or title
    badges = (word for line in lines[1:4] if (word := _parse_badge(line)))
    severity = severity or next(badges, "")
    if not title and not suggestions:
        return {}
    rest = "\n".join(line for line in lines[1:] if not _parse_badge(line)).strip()
    first = lines[0] if lines and _MARKUP.sub("", lines[0]) != _MARKUP.sub("", title) else ""
    fields = {
        "title": title or "A change is suggested",
        "description": "\n\n".join(filter(None, (first, rest))),
        "severity": severity if parse_severity(severity)[1] else "",
        "suggestion": "\n\n".join(suggestions),
    }
    return {name: value for name, value in fields.items() if value}


def _parse_badge(line: str) -> str:
    """Return the severity that a line of a few words stands for, such as "**High Severity**", or
    "".
    """
    words = " ".join(_MARKUP.sub(" ", line).split())
    if not words or len(words.split()) > _BADGE_WORDS or line.startswith("#") or "." in words:
        return ""
    known = [each for each in words.split() if parse_severity(each)[1]]
    return known[-1] if known else ""


def _parse_title(line: str) -> str:
    """Return the first sentence of a line, without its markup."""
    bare = line.lstrip("#>-*+ ").strip()
    bold = re.match(r"(?:\*\*|__)(?P<text>[^*_].{0,300}?)(?:\*\*|__)", line.lstrip("#> "))
    bare = bold["text"] if bold and len(bold["text"].split()) > 1 else bare
    first = _SENTENCE.split(bare.replace("**", "").replace("__", ""), maxsplit=1)[0]
    short = first.strip().rstrip(".:")
    return short if len(short) <= _TITLE else short[: _TITLE - 1].rstrip() + "…"
