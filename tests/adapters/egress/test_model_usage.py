"""Money at the proxy: what answers of a model use is counted as they pass, and the request after the limit is refused."""

import asyncio
import json

import pytest
from outside import outside

from punchlist.adapters.agents.spending import Spending
from punchlist.adapters.egress.policy import EgressPolicy, ModelRoute, parse_base_url
from punchlist.model.item.usage import Usage

PRICE = 1 / 1000
"""Dollars for a token, either way."""


def price(usage):
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        dollars=(usage.input_tokens + usage.output_tokens) * PRICE,
    )


def route(port):
    return EgressPolicy(routes=(ModelRoute("", parse_base_url(f"http://127.0.0.1:{port}")),))


def post(body=b"{}", path="/v1/messages"):
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:3128\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Accept-Encoding: gzip, br\r\n\r\n" + body


def answer(body, kind="application/json", status="200 OK", *, chunk=0):
    """An answer, in chunks of a size if one is given."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n".encode()
    if not chunk:
        return head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    pieces = [body[at : at + chunk] for at in range(0, len(body), chunk)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n\r\n"


def events(*documents, end="\n\n"):
    return "".join(f"event: x\ndata: {json.dumps(each)}{end}" for each in documents).encode()


def asked(given, *requests, limit=0.0):
    """The meter after these requests, the answers to them, and the world they were asked in."""

    async def ask():
        meter = Spending(limit=limit).open_call(price)
        async with outside(policy=route, answer=given, meter=meter) as world:
            return meter, [await world.ask(request) for request in requests], world

    return asyncio.run(ask())


ANTHROPIC = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5}
CHAT = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
RESPONSES = {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}
GEMINI = {"promptTokenCount": 100, "candidatesTokenCount": 4, "thoughtsTokenCount": 3}
BODIES = {
    "anthropic": {"type": "message", "usage": {**ANTHROPIC, "output_tokens": 7}},
    "chat": {"choices": [], "usage": CHAT},
    "chat that leaves thoughts to the total": {"usage": {**CHAT, "completion_tokens": 1}},
    "responses": {"output": [], "usage": RESPONSES},
    "gemini": {"candidates": [], "usageMetadata": GEMINI},
    "gemini in a list": [{"usageMetadata": {"promptTokenCount": 100}}, {"usageMetadata": GEMINI}],
}
STREAMS = {
    "anthropic": [
        {"type": "message_start", "message": {"usage": {**ANTHROPIC, "output_tokens": 1}}},
        {"type": "message_delta", "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ],
    "chat": [{"choices": [{"delta": {}}], "usage": None}, {"choices": [], "usage": CHAT}],
    "responses": [
        {"type": "response.created", "response": {"usage": None}},
        {"type": "response.completed", "response": {"output": [], "usage": RESPONSES}},
    ],
    "gemini": [{"usageMetadata": {"promptTokenCount": 100}}, {"usageMetadata": GEMINI}],
}


@pytest.mark.parametrize("chunk", [0, 1, 50])
@pytest.mark.parametrize("form", BODIES)
def test_a_body_is_counted_in_the_form_of_every_service(form, chunk):
    meter, _, _ = asked(answer(json.dumps(BODIES[form]).encode(), chunk=chunk), post())
    assert (meter.usage.input_tokens, meter.usage.output_tokens) == (100, 7)


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
@pytest.mark.parametrize("chunk", [0, 1, 50])
@pytest.mark.parametrize("form", STREAMS)
def test_a_stream_is_counted_in_the_form_of_every_service(form, chunk, end):
    given = answer(events(*STREAMS[form], end=end), "text/event-stream; charset=utf-8", chunk=chunk)
    meter, _, _ = asked(given, post())
    assert (meter.usage.input_tokens, meter.usage.output_tokens) == (100, 7)


def test_the_request_after_the_limit_is_refused_and_does_not_reach_the_service():
    body = json.dumps(BODIES["anthropic"]).encode()
    meter, answers, world = asked(answer(body), *[post()] * 5, limit=0.2)
    assert [each.split()[1] for each in answers] == [b"200", b"200", b"402", b"402", b"402"]
    assert len(world.received) == 2
    assert meter.refused == "the money limit of $0.2 is reached ($0.214 spent)"
    assert world.refused == [], "no host was refused that could be listed"


def test_the_refusal_is_an_error_in_the_form_of_every_service_and_not_to_be_retried():
    body = json.dumps(BODIES["anthropic"]).encode()
    _, answers, _ = asked(answer(body), *[post()] * 2, limit=0.1)
    head, _, refused = answers[1].partition(b"\r\n\r\n")
    assert b"\r\nx-should-retry: false" in head
    assert b"\r\nContent-Type: application/json" in head
    error = json.loads(refused)
    assert (error["type"], error["error"]["type"]) == ("error", "billing_error")
    assert (error["error"]["code"], error["error"]["status"]) == (402, "FAILED_PRECONDITION")
    assert "the money limit of $0.1 is reached" in error["error"]["message"]


def test_answers_under_way_are_passed_on_when_another_one_reaches_the_limit_and_no_more_begin():
    """What is spent beyond the limit is at most the answers that were under way."""

    async def play():
        spending = Spending(limit=0.1)
        one, other = spending.open_call(price), spending.open_call(price)
        body = json.dumps(BODIES["chat"]).encode()
        rest = asyncio.Event()
        started = asyncio.Queue()

        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            started.put_nowait(None)
            await rest.wait()
            writer.write(answer(body))
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with (
            outside(policy=lambda _: route(port), meter=one) as first,
            outside(policy=lambda _: route(port), meter=other) as second,
        ):
            begun = [asyncio.create_task(each.ask(post())) for each in (first, first, second)]
            for _ in begun:
                await started.get()
            rest.set()
            answers = await asyncio.gather(*begun)
            late = [await each.ask(post()) for each in (first, second)]
        server.close()
        return answers, late, spending

    answers, late, spending = asyncio.run(play())
    assert [each.split()[1] for each in answers] == [b"200"] * 3
    assert [each.split()[1] for each in late] == [b"402"] * 2, "the limit is that of the run"
    assert spending.dollars == pytest.approx(3 * 0.107)


def test_what_an_answer_used_is_known_before_its_last_byte_is_passed_on():
    """A program that asks again at once, before the connection is closed, is refused."""

    async def play():
        meter = Spending(limit=0.1).open_call(price)
        given = answer(events(*STREAMS["responses"]), "text/event-stream", chunk=40)
        given = given.removesuffix(b"0\r\n\r\n")
        async with outside(policy=route, answer=given, meter=meter) as world:
            reader, writer = await world.open()
            writer.write(post())
            await reader.readuntil(b'"output_tokens": 7')
            refused = await world.ask(post())
            writer.close()
            return refused

    assert asyncio.run(play()).startswith(b"HTTP/1.1 402 ")


def test_a_stream_that_the_program_leaves_or_that_reports_nothing_is_estimated():
    told = [{"choices": [{"delta": {"content": "word "}}]}] * 20
    meter, _, _ = asked(answer(events(*told), "text/event-stream"), post(b"x" * 4000))
    assert (meter.usage.input_tokens, meter.usage.output_tokens) == (1000, 20)
    cut = answer(events(STREAMS["anthropic"][0], *told), "text/event-stream")[:-10]

    async def leave():
        meter = Spending().open_call(price)
        async with outside(policy=route, answer=cut, meter=meter) as world:
            reader, writer = await world.open()
            writer.write(post())
            await reader.readuntil(b"word ")
            writer.transport.abort()
        return meter

    usage = asyncio.run(leave()).usage
    assert usage.input_tokens == 100, "as it was reported"
    assert usage.output_tokens >= 1


@pytest.mark.parametrize(
    "given",
    [
        answer(b'{"data": [{"id": "m1"}]}'),
        answer(b'{"input_tokens": 4000}'),
        answer(b'{"error": {"message": "overloaded"}}', status="529 Overloaded"),
        answer(b"ok", "text/plain"),
        answer(b""),
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
    ids=["models", "counted tokens", "error", "text", "empty", "nothing"],
)
def test_what_is_not_an_answer_of_a_model_costs_nothing(given):
    meter, answers, _ = asked(given, post(b"x" * 4000))
    assert (meter.usage, len(answers[0]) > 0) == (Usage(), True)


@pytest.mark.parametrize(
    "usage",
    [
        "[" * 100_000,
        '{"usage": ' * 50_000,
        '{"usage": {"input_tokens": "many", "output_tokens": -5, "total_tokens": true}}',
        '{"usage": {"input_tokens": 1e308, "output_tokens": null}}',
        '{"usage": [1, 2], "message": 5, "response": null}',
        '{"content": [{"input": {"usage": {"input_tokens": 5000}}}]}',
    ],
)
def test_a_document_that_reports_nonsense_is_passed_on_and_counts_nothing(usage):
    given = answer(usage.encode() + b'\n{"usage"}', chunk=3000)
    meter, answers, _ = asked(given, post(b""))
    assert answers[0].endswith(b"0\r\n\r\n")
    assert meter.usage.input_tokens == 0


def test_an_answer_that_is_compressed_all_the_same_is_estimated():
    given = answer(b"x" * 400).replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n", 1)
    meter, _, _ = asked(given, post(b"x" * 4000))
    assert (meter.usage.input_tokens, meter.usage.output_tokens) == (1000, 100)


def test_what_was_counted_is_written_down_when_an_answer_ends(tmp_path):
    async def play():
        meter = Spending(tmp_path, limit=0.1).open_call(price)
        async with outside(
            policy=route, answer=answer(json.dumps(BODIES["chat"]).encode()), meter=meter
        ) as world:
            await world.ask(post())

    asyncio.run(play())
    next_process = Spending(tmp_path, limit=0.1)
    assert "is reached" in next_process.refusal_reason(), "as after a kill"
    assert next_process.collect_cut().cut == 1


def test_the_service_is_asked_for_an_answer_that_can_be_read():
    _, _, world = asked(answer(b"{}"), post())
    assert b"\r\nAccept-Encoding: identity\r\n" in world.received[0]
    assert b"gzip" not in world.received[0]
