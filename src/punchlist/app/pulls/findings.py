"""What others say on a pull request, as files of findings for a run."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from punchlist.app.start.findings_files import keep_findings
from punchlist.intake.markdown_findings import is_findings
from punchlist.intake.review_comments import parse_comment
from punchlist.views.pulls.conversation import Comment, Conversation, Report, Thread
from punchlist.views.pulls.marks import read_mark
from punchlist.views.pulls.orders import parse_order

Entry = dict[str, Any]
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def gather_entries(
    conversation: Conversation, settled: Mapping[str, object]
) -> dict[str, list[Entry]]:
    """Return by speaker the open threads, demands and reports of others, each with its id; what is
    settled is left out.
    """
    found: dict[str, list[Entry]] = {}
    for thread in conversation.threads:
        if not thread.resolved and thread.id not in settled and (entry := read_thread(thread)):
            found.setdefault(thread.comments[0].author, []).append(entry)
    for review in conversation.reviews:
        name = f"review {review.id}"
        if review.demands and name not in settled and (entry := _read_review(review, name)):
            found.setdefault(review.author, []).append(entry)
    for report in conversation.reports:
        if report.id not in settled and (entry := _read_report(report)):
            found.setdefault(report.source, []).append(entry)
    return found


def gather_documents(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Yield author and text of reviews that are findings documents."""
    for review in conversation.reviews:
        if not review.own and read_mark(review.body) is None and is_findings(review.body):
            yield review.author, review.body


def read_thread(thread: Thread) -> Entry | None:
    """Return a thread of others as an entry of a findings file, or None if it says nothing. What
    is answered below its first comment belongs to its description.
    """
    first = thread.comments[0]
    if first.own or read_mark(first.body) is not None or parse_order(first) is not None:
        return None
    said = parse_comment(first.body)
    if not said:
        return None
    more = [f"{each.author}: {each.body}" for each in thread.comments[1:] if _adds(each)]
    description = "\n\n".join(filter(None, (said.get("description", ""), *more)))
    entry: Entry = {**said, "description": description}
    entry |= {"issue_id": thread.id, "url": first.url, "file": thread.path}
    if thread.line is not None:
        entry |= {"line": thread.first or thread.line, "end_line": thread.line}
    return entry


def _adds(comment: Comment) -> bool:
    return not comment.own and parse_order(comment) is None


def _read_review(review: Comment, name: str) -> Entry | None:
    if review.own or is_findings(review.body):
        return None
    said = parse_comment(review.body)
    return {**said, "issue_id": name, "url": review.url, "file": ""} if said else None


def _read_report(report: Report) -> Entry | None:
    entry: Entry = {
        "title": report.title,
        "description": report.detail if report.detail != report.title else "",
        "issue_id": report.id,
        "file": report.path,
        "line": report.line,
        "end_line": report.end_line,
        "severity": report.level,
        "rule": report.rule,
        "url": report.url,
    }
    return {key: value for key, value in entry.items() if value} if report.title else None


def write_findings(
    home: Path, entries: Mapping[str, list[Entry]], conversation: Conversation
) -> tuple[str, ...]:
    """Write the entries to one file for each speaker; return their paths."""
    files = []
    for speaker, said in sorted(entries.items()):
        content = msgspec.json.format(msgspec.json.encode(said), indent=1)
        files.append(keep_findings(home, _file_name(speaker), content))
    for author, text in gather_documents(conversation):
        files.append(keep_findings(home, f"{_file_name(author)}.md", text.encode()))
    return tuple(dict.fromkeys(files))


def list_ids(entries: Mapping[str, list[Entry]]) -> set[str]:
    return {str(entry["issue_id"]) for said in entries.values() for entry in said}


def _file_name(speaker: str) -> str:
    """Return a name without a dot: `find_origin` knows the files by that."""
    return _UNSAFE.sub("-", speaker).strip("-")[:60] or "unnamed"
