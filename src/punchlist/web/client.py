"""Python client of the HTTP API: one method per operation of the OpenAPI document."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Self, TypeVar

import httpx
import msgspec
from msgspec import Struct

from punchlist.errors import PunchlistError
from punchlist.views.plans.plan_forms import Master, Sheet
from punchlist.views.report_document import ItemPart
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
_NO_CONTENT = 204


class NotDone(PunchlistError):
    """The server refused; `problem` is its answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(
            f"{problem.where}: {problem.what}" if problem.where else problem.what, hint=problem.next
        )
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
        return self._request_json(Health, "GET", "/api/health")

    def openapi(self) -> dict[str, Any]:
        return self._request_json(dict[str, Any], "GET", "/api/openapi.json")

    def repositories(self) -> tuple[RepositoryPart, ...]:
        return self._request_json(tuple[RepositoryPart, ...], "GET", "/api/repositories")

    def register(self, data: Registering) -> RepositoryPart:
        return self._request_json(RepositoryPart, "POST", "/api/repositories", data)

    def forget(self, repository_id: str) -> None:
        self._send_request("DELETE", f"/api/repositories/{repository_id}")

    def runs(
        self, *, repository_id: str | None = None, offset: int = 0, limit: int = 50
    ) -> RunPage:
        return self._request_json(
            RunPage,
            "GET",
            "/api/runs",
            query={"repository_id": repository_id, "offset": offset, "limit": limit},
        )

    def start_run(self, data: Starting, *, key: str | None = None) -> RunPart:
        return self._request_json(RunPart, "POST", "/api/runs", data, headers=_key_header(key))

    def run(self, run_id: str) -> RunPart:
        return self._request_json(RunPart, "GET", f"/api/runs/{run_id}")

    def answer(self, run_id: str, data: Answering) -> RunPart:
        return self._request_json(RunPart, "POST", f"/api/runs/{run_id}/answers", data)

    def cancel(self, run_id: str) -> RunPart:
        return self._request_json(RunPart, "POST", f"/api/runs/{run_id}/cancel")

    def resume(self, run_id: str) -> RunPart:
        return self._request_json(RunPart, "POST", f"/api/runs/{run_id}/resume")

    def apply(self, run_id: str, data: Applying) -> Done:
        return self._request_json(Done, "POST", f"/api/runs/{run_id}/apply", data)

    def dismiss(self, run_id: str, data: Dismissing) -> Dismissals:
        return self._request_json(Dismissals, "POST", f"/api/runs/{run_id}/dismissals", data)

    def items(self, run_id: str, **wanted: Any) -> ItemPage:
        """`wanted`: status, severity (lists), path, text, in_scope, offset, limit."""
        return self._request_json(ItemPage, "GET", f"/api/runs/{run_id}/items", query=wanted)

    def item(self, run_id: str, number: int) -> ItemPart:
        return self._request_json(ItemPart, "GET", f"/api/runs/{run_id}/items/{number}")

    def diff(self, run_id: str) -> bytes:
        return self._send_request("GET", f"/api/runs/{run_id}/diff").content

    def events(self, run_id: str, *, after: int = 0, limit: int = 100) -> EventPage:
        return self._request_json(
            EventPage, "GET", f"/api/runs/{run_id}/events", query={"after": after, "limit": limit}
        )

    def stream(self, run_id: str, *, last_event_id: str = "") -> Iterator[Event]:
        """Yield every ledger entry once until the run ends; reconnect if the stream breaks."""
        return self._follow_stream(
            lambda last: self._stream("GET", f"/api/runs/{run_id}/stream", last),
            last_event_id,
            _is_end,
        )

    def artifacts(self, run_id: str) -> tuple[ArtifactLine, ...]:
        return self._request_json(tuple[ArtifactLine, ...], "GET", f"/api/runs/{run_id}/artifacts")

    def artifact(self, run_id: str, name: str) -> bytes:
        return self._send_request("GET", f"/api/runs/{run_id}/artifacts/{name}").content

    def report(self, run_id: str, form: str) -> bytes:
        return self._send_request("GET", f"/api/runs/{run_id}/reports/{form}").content

    def clarify(self, data: Clarify, *, key: str | None = None) -> Clarified:
        return self._request_json(
            Clarified, "POST", "/api/fix/clarify", data, headers=_key_header(key)
        )

    def make_plan(self, data: MakePlan, *, key: str | None = None) -> Plan:
        return self._request_json(Plan, "POST", "/api/fix/plan", data, headers=_key_header(key))

    def plan(self, session_id: str) -> Plan:
        return self._request_json(Plan, "GET", f"/api/fix/{session_id}/plan")

    def replace_master_todo(self, session_id: str, data: Master) -> Plan:
        return self._request_json(Plan, "PUT", f"/api/fix/{session_id}/plan/master_todo", data)

    def replace_fix_todo(self, session_id: str, code: str, data: Sheet) -> Plan:
        return self._request_json(Plan, "PUT", f"/api/fix/{session_id}/plan/fix_todo/{code}", data)

    def start_fix(
        self, data: StartFix, *, key: str | None = None, last_event_id: str = ""
    ) -> Iterator[Event]:
        """Yield the session's events to its end. A broken stream is resumed; before its first event
        only with a key, since a second session might begin.
        """
        session: list[str] = []

        def open_stream(last: str) -> AbstractContextManager[httpx.Response]:
            if session:
                return self._stream("GET", f"/api/fix/{session[0]}/stream", last)
            return self._stream("POST", "/api/fix/start", last, data, _key_header(key))

        for event in self._follow_stream(
            open_stream, last_event_id, _final, again=lambda: bool(session or key)
        ):
            session[:] = [event.data["session_id"]] if "session_id" in event.data else session
            yield event

    def fix_stream(self, session_id: str, *, last_event_id: str = "") -> Iterator[Event]:
        """Follow an existing session."""
        return self._follow_stream(
            lambda last: self._stream("GET", f"/api/fix/{session_id}/stream", last),
            last_event_id,
            _final,
        )

    def _request_json(  # noqa: PLR0913 - what a request is made of
        self,
        answer: type[T],
        method: str,
        path: str,
        data: Struct | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> T:
        return msgspec.json.decode(
            self._send_request(method, path, data, headers=headers, query=query).content,
            type=answer,
        )

    def _send_request(
        self,
        method: str,
        path: str,
        data: Struct | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> httpx.Response:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        body = None if data is None else msgspec.json.encode(data)
        answer = self._http.request(
            method,
            path,
            content=body,
            headers={**_type_header(body), **(headers or {})},
            params=given,
        )
        if answer.is_error:
            raise _not_done(answer)
        return answer

    def _stream(
        self,
        method: str,
        path: str,
        last: str,
        data: Struct | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> AbstractContextManager[httpx.Response]:
        body = None if data is None else msgspec.json.encode(data)
        since = {"last-event-id": last} if last else {}
        return self._http.stream(
            method, path, content=body, headers={**_type_header(body), **since, **(headers or {})}
        )

    def _follow_stream(
        self,
        opened: Callable[[str], AbstractContextManager[httpx.Response]],
        last: str,
        final: Callable[[Event], bool],
        again: Callable[[], bool] = lambda: True,
    ) -> Iterator[Event]:
        seen: Event | None = None
        until = time.monotonic() + self._patience
        while True:
            try:
                with opened(last) as answer:
                    for event in _read_events(answer):
                        seen, last, until = (
                            event,
                            event.id or last,
                            time.monotonic() + self._patience,
                        )
                        if event.name != _END:
                            yield event
                    if answer.status_code == _NO_CONTENT or (seen is not None and final(seen)):
                        return
            except httpx.TransportError:
                if time.monotonic() > until or not again():
                    raise
            if time.monotonic() > until:
                raise NotDone(
                    Problem(
                        status=504,
                        what="the stream ends before its end",
                        next="follow it again later",
                    )
                )
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
            yield Event(
                fields.get("event", ""),
                msgspec.json.decode(fields["data"], type=dict[str, Any]),
                fields.get("id", ""),
            )
        fields = {}


def _is_end(event: Event) -> bool:
    return event.name == _END


def _final(event: Event) -> bool:
    """Return whether a fix session ends with this event."""
    return event.name in ("fix_session_completed", "fix_session_error")


def _not_done(answer: httpx.Response) -> NotDone:
    try:
        return NotDone(msgspec.json.decode(answer.content, type=Problem))
    except msgspec.MsgspecError:
        return NotDone(
            Problem(
                status=answer.status_code,
                what=f"the server answered {answer.status_code}",
                next="is it punchlist?",
            )
        )


def _key_header(key: str | None) -> dict[str, str]:
    return {"x-idempotency-key": key} if key else {}


def _type_header(body: bytes | None) -> dict[str, str]:
    return {"content-type": "application/json"} if body is not None else {}
