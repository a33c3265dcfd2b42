"""The Python client has a method for each operation of the OpenAPI document, and sends what the document says."""

import inspect
import json
import re
from pathlib import Path
from typing import get_type_hints

import httpx
import msgspec
import pytest
from workbench import fix, fixer, review, scores

from punchlist.views.plans.plan_forms import Master, Sheet
from punchlist.web.api.fix_sessions.schemas import Clarify, MakePlan, StartFix
from punchlist.web.client import Client, NotDone
from punchlist.web.problem import Problem
from punchlist.web.schemas import Answering, Applying, Dismissing, Registering, Starting

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs/reference/openapi.json").read_text())
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
BODIES = {
    Registering: Registering(path="/srv/shop"),
    Starting: Starting(repository_id="r"),
    Answering: Answering(choice="a"),
    Applying: Applying(),
    Dismissing: Dismissing(numbers=(7,), why="w"),
    Clarify: Clarify(repository_id="r"),
    MakePlan: MakePlan(repository_id="r"),
    StartFix: StartFix(repository_id="r"),
    Master: Master(),
    Sheet: Sheet("F001"),
}
VALUES = {
    "run_id": "261115-aaaaaa",
    "repository_id": "abc",
    "session_id": "261115-aaaaaa",
    "number": 7,
    "name": "plan/a.json",
    "form": "md",
    "code": "F001",
}
FILTERS = {
    "status": ["open"],
    "severity": ["major"],
    "path": "p",
    "text": "t",
    "in_scope": True,
    "offset": 1,
    "limit": 2,
}


def called(name: str) -> httpx.Request:
    """The request that a method sends, with everything given that it takes."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(418, json={"status": 418, "what": "seen"})

    with Client("http://punchlist", "token", transport=httpx.MockTransport(answer)) as client:
        method = getattr(client, name)
        given = {}
        for parameter in inspect.signature(method).parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                given |= FILTERS
            elif parameter.name == "data":
                given["data"] = BODIES[get_type_hints(method)["data"]]
            else:
                given[parameter.name] = VALUES.get(
                    parameter.name, "7" if parameter.name in ("key", "last_event_id") else 7
                )
        with pytest.raises(NotDone) as told:
            list(method(**given))
    assert told.value.problem == Problem(status=418, what="seen")
    (request,) = sent
    return request


def test_there_is_a_method_for_each_operation_and_no_other():
    public = {
        name
        for name, _ in inspect.getmembers(Client, inspect.isfunction)
        if not name.startswith("_")
    } - {"close"}
    assert public == set(OPERATIONS)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_method_sends_what_the_document_says(name):
    method, path, operation = OPERATIONS[name]
    request = called(name)
    for parameter, value in VALUES.items():
        path = path.replace(f"{{{parameter}}}", str(value))
    assert (request.method, request.url.path) == (method, path)
    assert request.headers["authorization"] == "Bearer token"
    declared = operation.get("parameters", [])
    assert set(request.url.params) == {each["name"] for each in declared if each["in"] == "query"}
    headers = {each["name"].lower() for each in declared if each["in"] == "header"}
    assert headers == {
        each for each in request.headers if each in ("x-idempotency-key", "last-event-id")
    }
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"][
            "$ref"
        ].rpartition("/")[2]
        assert schema == get_type_hints(getattr(Client, name))["data"].__name__
        assert set(json.loads(request.content)) == set(
            DOCUMENT["components"]["schemas"][schema]["properties"]
        )
    else:
        assert not request.content


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_method_gives_what_the_document_says(name):
    _, _, operation = OPERATIONS[name]
    answers = next(
        (
            each.get("content", {})
            for status, each in operation["responses"].items()
            if status in ("200", "201")
        ),
        {},
    )
    returned = get_type_hints(getattr(Client, name))["return"]
    schema = answers.get("application/json", {}).get("schema")
    if schema and schema.get("type") != "object":
        listed, known = msgspec.json.schema_components(
            [returned], ref_template="#/components/schemas/{name}"
        )
        assert listed[0] == schema
        for part, said in json.loads(json.dumps(known)).items():
            assert DOCUMENT["components"]["schemas"][part] == said


def test_what_is_no_answer_of_punchlist_is_told_as_such():
    proxy = httpx.MockTransport(lambda _: httpx.Response(502, text="<html>"))
    with Client("http://x", "t", transport=proxy) as client, pytest.raises(NotDone, match="502"):
        client.health()


def test_a_stream_that_breaks_is_gone_on_with():
    """Two lines, a break, the same question from there on, and the end."""
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        first = 1 if len(asked) == 1 else 3
        lines = "".join(f"id: {n}\nevent: stepdone\ndata: {{}}\n\n" for n in (first, first + 1))
        return httpx.Response(
            200,
            text=f"retry: 1000\n\n: still here\n\n{lines}"
            + ("event: end\ndata: {}\n\n" if first == 3 else ""),
        )

    with Client("http://x", "t", transport=httpx.MockTransport(answer)) as client:
        assert [event.id for event in client.stream("r")] == ["1", "2", "3", "4"]
    assert asked == [None, "2"]


def test_a_session_is_not_started_twice_without_a_key():
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("broken")

    with (
        Client("http://x", "t", transport=httpx.MockTransport(answer)) as client,
        pytest.raises(httpx.ReadError),
    ):
        list(client.start_fix(StartFix(repository_id="r")))


def test_the_example_in_the_guide_runs(bench, site, capsys):
    """It reviews, and fixes what is left in a session."""
    bench.play(
        review("mean"),
        fixer(fix("mean", "blocked", "needs the owner of the data"), times=1),
        fixer(fix("mean")),
        scores(F001=95),
    )
    site.start().register(bench.repo.root)
    guide = (Path(__file__).parents[2] / "docs/guides/api.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    there = code.replace("http://127.0.0.1:8470", site.address)
    exec(compile(there, "api.md", "exec"), {"token": site.tokens["run"]})
    said = capsys.readouterr().out
    assert "ended" in said
    assert "fix_session_completed" in said
    assert "'outcome': 'fixed'" in said
