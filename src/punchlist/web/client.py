"""Python client of the HTTP API: one method per operation of the OpenAPI document."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Self, TypeVar

import httpx
import msgspec
from msgspec import Struct

from punchlist.errors import PunchlistError
from punchlist.model.finding.guarded_text import parse_json
from punchlist.views.plans.plan_forms import Master, Sheet
from punchlist.views.report_document import ItemPart
from punchlist.views.tables.fleet import Fleet
from punchlist.views.tables.trends import Trends
from punchlist.web.api.fix_sessions.schemas import Clarified, Clarify, MakePlan, Plan, StartFix
from punchlist.web.problem import Problem
from punchlist.web.schemas import (
    Answering,
    Applying,
    ArtifactLine,
    Dismissals,
    Dismissing,
    Done,
    EventPage,
    Health,
    ItemPage,
    Registering,
    RepositoryPart,
    RunPage,
    RunPart,
    Starting,
)

T = TypeVar("T")
_PAUSE = 0.5
_END = "end"
_FIX_ENDS = ("fix_session_completed", "fix_session_error")
_NO_CONTENT = 204


class NotDone(PunchlistError):
    """The server refused; `problem` is its answer."""

    def __init__(self, problem: Problem) -> None:
        where = f"{problem.where}: " if problem.where else ""
        super().__init__(f"{where}{problem.what}", hint=problem.next)
        self.problem = problem


class Event(Struct, frozen=True):
    """One event of a stream; without an `id` it is not in the ledger, and is not sent again."""

    name: str
    data: dict[str, Any]
    id: str = ""


class Client:
    """`timeout` (seconds) holds also while agents work. A broken stream is retried for
    `patience` seconds.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 900,
        patience: float = 60,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            base_url=address, headers=headers, timeout=timeout, trust_env=False, transport=transport
        )
        self._patience = patience

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def health(self) -> Health:
        return self._get(Health, "health")

    def openapi(self) -> dict[str, Any]:
        return self._get(dict[str, Any], "openapi.json")

    def repositories(self) -> tuple[RepositoryPart, ...]:
        return self._get(tuple[RepositoryPart, ...], "repositories")

    def register(self, data: Registering) -> RepositoryPart:
        return self._post(RepositoryPart, "repositories", data)

    def forget(self, repository_id: str) -> None:
        self._send("DELETE", f"repositories/{repository_id}")

    def fleet(self) -> Fleet:
        return self._get(Fleet, "fleet")

    def trends(self, repository_id: str, *, limit: int = 50) -> Trends:
        return self._get(Trends, f"repositories/{repository_id}/trends", limit=limit)

    def runs(
        self, *, repository_id: str | None = None, offset: int = 0, limit: int = 50
    ) -> RunPage:
        return self._get(RunPage, "runs", repository_id=repository_id, offset=offset, limit=limit)

    def start_run(self, data: Starting, *, key: str | None = None) -> RunPart:
        return self._post(RunPart, "runs", data, key)

    def run(self, run_id: str) -> RunPart:
        return self._get(RunPart, f"runs/{run_id}")

    def answer(self, run_id: str, data: Answering) -> RunPart:
        return self._post(RunPart, f"runs/{run_id}/answers", data)

    def cancel(self, run_id: str) -> RunPart:
        return self._post(RunPart, f"runs/{run_id}/cancel")

    def resume(self, run_id: str) -> RunPart:
        return self._post(RunPart, f"runs/{run_id}/resume")

    def apply(self, run_id: str, data: Applying) -> Done:
        return self._post(Done, f"runs/{run_id}/apply", data)

    def discard(self, run_id: str) -> Done:
        return self._post(Done, f"runs/{run_id}/discard")

    def dismiss(self, run_id: str, data: Dismissing) -> Dismissals:
        return self._post(Dismissals, f"runs/{run_id}/dismissals", data)

    def items(self, run_id: str, **wanted: Any) -> ItemPage:
        """`wanted`: status, severity (lists), path, text, in_scope, offset, limit."""
        return self._get(ItemPage, f"runs/{run_id}/items", **wanted)

    def item(self, run_id: str, number: int) -> ItemPart:
        return self._get(ItemPart, f"runs/{run_id}/items/{number}")

    def diff(self, run_id: str) -> bytes:
        return self._send("GET", f"runs/{run_id}/diff")

    def events(self, run_id: str, *, after: int = 0, limit: int = 100) -> EventPage:
        return self._get(EventPage, f"runs/{run_id}/events", after=after, limit=limit)

    def stream(self, run_id: str, *, last_event_id: str = "") -> Iterator[Event]:
        """Yield every ledger entry once until the run ends; reconnect if the stream breaks."""
        return self._follow(f"runs/{run_id}/stream", last_event_id, (_END,))

    def artifacts(self, run_id: str) -> tuple[ArtifactLine, ...]:
        return self._get(tuple[ArtifactLine, ...], f"runs/{run_id}/artifacts")

    def artifact(self, run_id: str, name: str) -> bytes:
        return self._send("GET", f"runs/{run_id}/artifacts/{name}")

    def report(self, run_id: str, form: str) -> bytes:
        return self._send("GET", f"runs/{run_id}/reports/{form}")

    def clarify(self, data: Clarify, *, key: str | None = None) -> Clarified:
        return self._post(Clarified, "fix/clarify", data, key)

    def make_plan(self, data: MakePlan, *, key: str | None = None) -> Plan:
        return self._post(Plan, "fix/plan", data, key)

    def plan(self, session_id: str) -> Plan:
        return self._get(Plan, f"fix/{session_id}/plan")

    def replace_master_todo(self, session_id: str, data: Master) -> Plan:
        return self._put(Plan, f"fix/{session_id}/plan/master_todo", data)

    def replace_fix_todo(self, session_id: str, code: str, data: Sheet) -> Plan:
        return self._put(Plan, f"fix/{session_id}/plan/fix_todo/{code}", data)

    def start_fix(
        self, data: StartFix, *, key: str | None = None, last_event_id: str = ""
    ) -> Iterator[Event]:
        """Yield the session's events to its end. A broken stream is resumed; before its first event
        only with a key, since a second session might begin.
        """
        session: list[str] = []

        def open_stream(last: str) -> AbstractContextManager[httpx.Response]:
            if session:
                return self._stream("GET", f"fix/{session[0]}/stream", last)
            return self._stream("POST", "fix/start", last, data, key)

        for event in self._follow_stream(
            open_stream, last_event_id, _FIX_ENDS, again=lambda: bool(session or key)
        ):
            session[:] = [event.data["session_id"]] if "session_id" in event.data else session
            yield event

    def fix_stream(self, session_id: str, *, last_event_id: str = "") -> Iterator[Event]:
        """Follow an existing session."""
        return self._follow(f"fix/{session_id}/stream", last_event_id, _FIX_ENDS)

    def _get(self, answer: type[T], path: str, /, **query: Any) -> T:
        given = {name: value for name, value in query.items() if value is not None}
        return parse_json(self._send("GET", path, params=given), answer)

    def _post(
        self, answer: type[T], path: str, data: Struct | None = None, key: str | None = None
    ) -> T:
        return parse_json(self._send("POST", path, **_encode_body(data, key)), answer)

    def _put(self, answer: type[T], path: str, data: Struct) -> T:
        return parse_json(self._send("PUT", path, **_encode_body(data)), answer)

    def _send(self, method: str, path: str, **more: Any) -> bytes:
        answer = self._http.request(method, f"/api/{path}", **more)
        if answer.is_error:
            raise _not_done(answer)
        return answer.content

    def _stream(
        self, method: str, path: str, last: str, data: Struct | None = None, key: str | None = None
    ) -> AbstractContextManager[httpx.Response]:
        body = _encode_body(data, key)
        if last:
            body["headers"]["last-event-id"] = last
        return self._http.stream(method, f"/api/{path}", **body)

    def _follow(self, path: str, last: str, ends: tuple[str, ...]) -> Iterator[Event]:
        return self._follow_stream(lambda last: self._stream("GET", path, last), last, ends)

    def _follow_stream(
        self,
        opened: Callable[[str], AbstractContextManager[httpx.Response]],
        last: str,
        ends: tuple[str, ...],
        again: Callable[[], bool] = lambda: True,
    ) -> Iterator[Event]:
        """Yield events, reconnecting after the last one, until an event of `ends` was the last."""
        name = ""
        until = time.monotonic() + self._patience
        while True:
            try:
                with opened(last) as answer:
                    for event in _read_events(answer):
                        name, last = event.name, event.id or last
                        until = time.monotonic() + self._patience
                        if name != _END:
                            yield event
                    if answer.status_code == _NO_CONTENT or name in ends:
                        return
            except httpx.TransportError:
                if time.monotonic() > until or not again():
                    raise
            if time.monotonic() > until:
                what = "the stream ends before its end"
                raise NotDone(Problem(status=504, what=what, next="follow it again later"))
            time.sleep(_PAUSE)


def _read_events(answer: httpx.Response) -> Iterator[Event]:
    if answer.is_error:
        answer.read()
        raise _not_done(answer)
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
            continue
        if "data" in fields:
            data = parse_json(fields["data"], dict[str, Any])
            yield Event(fields.get("event", ""), data, fields.get("id", ""))
        fields = {}


def _not_done(answer: httpx.Response) -> NotDone:
    try:
        return NotDone(parse_json(answer.content, Problem))
    except msgspec.MsgspecError:
        status = answer.status_code
        what = f"the server answered {status}"
        return NotDone(Problem(status=status, what=what, next="is it punchlist?"))


def _encode_body(data: Struct | None, key: str | None = None) -> dict[str, Any]:
    """Return body and headers of a request, as httpx takes them."""
    headers = {"x-idempotency-key": key} if key else {}
    if data is None:
        return {"headers": headers}
    headers["content-type"] = "application/json"
    return {"content": msgspec.json.encode(data), "headers": headers}
