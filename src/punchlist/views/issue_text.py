"""All that is known of an item that was not fixed, as the text of an issue; everything foreign in
it is made safe.
"""

from collections.abc import Iterator

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.item.item import Attempt, Item
from punchlist.views.item_words import FACTS
from punchlist.views.safe_text import safe_text

TITLE_LIMIT = 100
_DETAIL_LIMIT = 8_000
_EVIDENCE_LIMIT = 4_000
_EVIDENCE_IN_ALL = 24_000
_WHY_LIMIT = 1_000
_OTHERS = 20
"""Trackers refuse texts beyond some 65,000 characters: evidence is shortened so that the history
stays whole.
"""


class Dossier(Struct, frozen=True, kw_only=True):
    """All an issue needs: the item with its history, and the run it comes from."""

    item: Item
    title: str
    body: str
    labels: tuple[str, ...]
    run: str


def dossier(item: Item, run_id: str) -> Dossier:
    return Dossier(
        item=item,
        title=_title(item),
        body=_body(item, run_id),
        labels=("tech-debt", str(item.severity)),
        run=run_id,
    )


def fingerprint_comment(fingerprint: str) -> str:
    """How an issue is found again; safe text cannot hold such a comment."""
    return f"<!-- punchlist:fingerprint {fingerprint} -->"


def _title(item: Item) -> str:
    title = f"[{item.severity.upper()}] {' '.join(safe_text(item.lead.title).split())}"
    return title if len(title) <= TITLE_LIMIT else title[: TITLE_LIMIT - 1].rstrip() + "…"


def _body(item: Item, run_id: str) -> str:
    sections = (
        _facts(item),
        _section("What was found", _found(item)),
        _section("Suggested fix", _suggested(item)),
        _section(
            "What was tried",
            "\n".join(_history(item.attempts)) or "Nothing yet: no fixer was asked.",
        ),
        _section("Flagged", "\n".join(f"- {_line(flag)}" for flag in item.flags)),
        (
            f"---\nFiled by punchlist: run {code(run_id)}, item"
            f" {item.number}.\n\n{fingerprint_comment(item.fingerprint)}"
        ),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _facts(item: Item) -> str:
    lead = item.lead
    rows = [
        (
            "Severity",
            f"{item.severity}{f' ({_line(lead.severity_word)})' if lead.severity_word else ''}",
        )
    ]
    rows.append(("Location", code(place(lead)) if lead.spot.path else "no file was named"))
    rows.append(
        ("Reported by", ", ".join(dict.fromkeys(_reporter(finding) for finding in item.findings)))
    )
    if lead.category:
        rows.append(("Category", _line(lead.category)))
    if not item.in_scope:
        rows.append(("Scope", "outside the change that was reviewed"))
    return "\n".join(f"- **{name}:** {value}" for name, value in rows)


def place(finding: Finding) -> str:
    """Path and lines, as people write them."""
    spot = finding.spot
    if not spot.line:
        return spot.path
    end = f"-{spot.end_line}" if spot.end_line and spot.end_line != spot.line else ""
    return f"{spot.path}:{spot.line}{end}"


def _found(item: Item) -> str:
    lead = item.lead
    parts = [_line(lead.title), _cut(lead.detail, _DETAIL_LIMIT)]
    parts += [f"More: {_line(lead.url)}"] if lead.url else []
    parts += (
        ["\n".join(f"- Odd about it: {_line(mark)}" for mark in lead.marks)] if lead.marks else []
    )
    others = item.findings[1:]
    said = [
        f"- {_reporter(other)} at {code(place(other))}: {_line(other.title)}"
        for other in others[:_OTHERS]
    ]
    if len(others) > _OTHERS:
        said.append(f"- and {len(others) - _OTHERS} more")
    return "\n\n".join(
        part for part in (*parts, "\n".join(["Also reported:", *said]) if said else "") if part
    )


def _suggested(item: Item) -> str:
    said = dict.fromkeys(finding.suggestion for finding in item.findings if finding.suggestion)
    tools = dict.fromkeys(
        finding.fix.title or "a change of its own" for finding in item.findings if finding.fix
    )
    texts = [_cut(text, _DETAIL_LIMIT // 2) for text in list(said)[:_OTHERS]]
    return "\n\n".join(
        [*texts, *(f"The tool proposes: {_line(title)}" for title in list(tools)[:_OTHERS])]
    )


def _history(attempts: tuple[Attempt, ...]) -> Iterator[str]:
    room = min(_EVIDENCE_LIMIT, _EVIDENCE_IN_ALL // max(len(attempts), 1))
    for number, attempt in enumerate(attempts, 1):
        why = f": {_line(_middle_out(attempt.why, _WHY_LIMIT))}" if attempt.why else ""
        yield (
            f"{number}. Round {attempt.round}, {_line(attempt.by) or 'punchlist'}:"
            f" {FACTS[attempt.fact]}{why}"
        )
        if attempt.evidence.strip():
            yield _indented(_fenced(_middle_out(attempt.evidence.strip(), room)))


def _section(name: str, text: str) -> str:
    return f"## {name}\n\n{text}" if text.strip() else ""


def _reporter(finding: Finding) -> str:
    return _line(finding.source) + (f" ({_line(finding.rule)})" if finding.rule else "")


def _line(text: str) -> str:
    return " ".join(safe_text(text).split())


def _cut(text: str, limit: int) -> str:
    return safe_text(_middle_out(text.strip(), limit))


def _middle_out(text: str, limit: int) -> str:
    """A long text keeps its beginning and its end, and says what is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def code(text: str) -> str:
    """Text as inline code, whatever it holds."""
    plain = _line(text)
    ticks = "`" * (_longest_ticks(plain) + 1)
    pad = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def _fenced(text: str) -> str:
    safe = safe_text(text)
    fence = "`" * max(3, _longest_ticks(safe) + 1)
    return f"{fence}text\n{safe}\n{fence}"


def _longest_ticks(text: str) -> int:
    longest = now = 0
    for char in text:
        now = now + 1 if char == "`" else 0
        longest = max(longest, now)
    return longest


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.split("\n"))
