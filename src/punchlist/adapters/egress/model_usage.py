"""Count what a model's answers use while they pass through the proxy, and refuse the next request
once there is nothing left to spend.

Tokens are read where the services report them: in a JSON body, or in the events of a stream. All of
them report what one answer has used so far, so the largest count is the count.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from punchlist.adapters.egress.http_head import MessageHead, Refused
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.item.usage import Usage

PAYMENT_REQUIRED = 402
_SUCCESS = range(200, 300)
_LARGEST = 32 << 20
"""Bytes of one document that are kept to be parsed."""
_BYTES_PER_TOKEN = 4
_USAGE = ("usage", "usageMetadata")
_AROUND = ("message", "response")
"""Members of an event that hold the message, and its usage, so far."""
_INPUT = (
    ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    ("prompt_tokens",),
    ("promptTokenCount", "toolUsePromptTokenCount"),
)
_OUTPUT = (
    ("output_tokens",),
    ("completion_tokens",),
    ("candidatesTokenCount", "thoughtsTokenCount"),
)
_TOTAL = (("total_tokens",), ("totalTokenCount",))


class ModelMeter(Protocol):
    """What one child's requests to its model are counted by."""

    def check_request(self) -> str:
        """Return why the model may not be asked again, or ''."""
        ...

    def set_answer(self, answer: int, usage: Usage) -> None:
        """Note what an answer has used so far; called for each event of a stream, so it is fast."""
        ...

    def save(self) -> None:
        """Write down what was noted."""
        ...


class SpendingRefused(Refused):
    """The limit is reached. The body is an error in the forms of all services at once, with a
    status that programs do not retry.
    """

    content_type = "application/json"
    fields = (("x-should-retry", "false"),)

    def __init__(self, why: str) -> None:
        super().__init__(why, PAYMENT_REQUIRED, recorded=False)

    def format_body(self, target: str) -> bytes:
        error = {
            "type": "billing_error",
            "code": PAYMENT_REQUIRED,
            "status": "FAILED_PRECONDITION",
            "message": f"punchlist: {self.why}",
            "param": None,
        }
        return msgspec.json.encode({"type": "error", "error": error})


class MeteredCall:
    """One request and its answer; each piece is shown before it is passed on. Without a meter
    nothing is counted.
    """

    def __init__(self, meter: ModelMeter | None = None, number: int = 0) -> None:
        self._meter = meter
        self._number = number
        self._asked = 0
        self._read: _StreamReader | _BodyReader | None = None
        self._usage = Usage()
        self.complete = False
        """Whether the answer was passed on to its end."""

    def show_request(self, data: bytes) -> None:
        self._asked += len(data)

    def begin_answer(self, head: MessageHead) -> None:
        kind = (head.find("content-type") or "").lower()
        if self._meter is None or head.status not in _SUCCESS:
            return
        if "event-stream" in kind:
            self._read = _StreamReader()
        elif "json" in kind:
            coding = (head.find("content-encoding") or "identity").lower()
            self._read = _BodyReader(lacks_usage=coding != "identity")

    def show_answer(self, data: bytes) -> None:
        if self._read:
            self._read.feed(data)
            self._note(self._read.used)

    def end(self) -> None:
        """Estimate what the answer did not report: a stream has at least one token in each event,
        and a token of text has about four bytes.
        """
        if self._read is None or self._meter is None:
            return
        if not self.complete or self._read.lacks_usage:
            used, written = self._read.used, self._read.written
            given = used.input_tokens or self._asked // _BYTES_PER_TOKEN
            self._note(Usage(input_tokens=given, output_tokens=max(used.output_tokens, written)))
        self._meter.save()

    def _note(self, used: Usage) -> None:
        if self._meter and used != self._usage:
            self._usage = used
            self._meter.set_answer(self._number, used)


class _StreamReader:
    """Reads server-sent events."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data = bytearray()
        self.used = Usage()
        self.written = 0

    @property
    def lacks_usage(self) -> bool:
        return self.used == Usage()

    def feed(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._end_line(bytes(self._line) + line)
            self._line.clear()
        if len(self._line) < _LARGEST:
            self._line += rest

    def _end_line(self, line: bytes) -> None:
        line = line.rstrip(b"\r")
        if line.startswith(b"data:") and len(self._data) < _LARGEST:
            self._data += line.removeprefix(b"data:") + b"\n"
        elif not line and self._data:
            self.written += 1
            self.used = _add_reported(self.used, bytes(self._data))
            self._data.clear()


class _BodyReader:
    """Reads one JSON document, which is parsed as soon as it is complete."""

    def __init__(self, *, lacks_usage: bool) -> None:
        """`lacks_usage`: it cannot be read. One that can, and reports nothing, such as a list of
        models, is free.
        """
        self.lacks_usage = lacks_usage
        self._body = bytearray()
        self.used = Usage()

    @property
    def written(self) -> int:
        return len(self._body) // _BYTES_PER_TOKEN

    def feed(self, data: bytes) -> None:
        if len(self._body) < _LARGEST:
            self._body += data
        if data.rstrip()[-1:] in (b"}", b"]"):
            self.used = _add_reported(self.used, bytes(self._body))


def _add_reported(used: Usage, document: bytes) -> Usage:
    """Return the usage with what a document reports, where that is more."""
    if b"sage" not in document:
        return used
    found = _decode(document)
    for event in found if isinstance(found, list) else [found]:
        for counts in _find_counts(event):
            given = _largest(counts, _INPUT)
            written = max(_largest(counts, _OUTPUT), _largest(counts, _TOTAL) - given)
            used = Usage(
                input_tokens=max(used.input_tokens, given),
                output_tokens=max(used.output_tokens, written),
            )
    return used


def _find_counts(event: object) -> list[Mapping[str, Any]]:
    if not isinstance(event, dict):
        return []
    holders = [event, *(event.get(name) for name in _AROUND)]
    found = [each.get(name) for each in holders if isinstance(each, dict) for name in _USAGE]
    return [each for each in found if isinstance(each, dict)]


def _largest(counts: Mapping[str, Any], spellings: tuple[tuple[str, ...], ...]) -> int:
    return max(sum(_count(counts.get(name)) for name in names) for names in spellings)


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _decode(document: bytes) -> object:
    """Return the JSON document; None for another text."""
    try:
        return parse_json(document, object)
    except msgspec.MsgspecError:
        return None
