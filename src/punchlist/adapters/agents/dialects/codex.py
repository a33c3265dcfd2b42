"""Codex, asked with `codex exec --json`."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import make_filename
from punchlist.adapters.agents.denials import find_denial
from punchlist.adapters.agents.dialect import (
    AgentCall,
    CallContext,
    ParsedReply,
    ReadEvent,
    encode_json,
    option,
    read_usage,
    structured_prompt,
)
from punchlist.adapters.agents.json_lines import JsonEvent, find_last, parse_event, parse_events
from punchlist.adapters.agents.model_access import ModelAccess, ModelEndpoint
from punchlist.adapters.agents.spending import Measured
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask

_OFF = (
    "--ignore-user-config --ignore-rules --skip-git-repo-check"
    " --disable plugins --disable apps".split()
)
"""With the user's settings the repository's own, which may start MCP servers, are ignored."""
_CONFIG: Mapping[str, object] = {
    "analytics.enabled": False,
    "check_for_update_on_startup": False,
    "web_search": "disabled",
    # what the project wants of agents is in the prompt, from the base commit
    "project_doc_max_bytes": 0,
    "sandbox_workspace_write.exclude_slash_tmp": True,  # TMPDIR is its own and enough
}
_OPENAI = "https://api.openai.com/v1"
_PROVIDER = "named"
_READERS = frozenset("cat sed nl head tail less more bat awk wc rg grep".split())
_BETWEEN = frozenset({"|", "||", "&&", ";", "&"})
_LONGEST_LINE = 10_000
_TAIL = 256 << 10
_SHELLS = frozenset({"bash", "sh", "zsh"})


class Codex:
    program = "codex"
    keys = ("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    access = ModelAccess(
        ModelEndpoint(keys[:2], keys[2], _OPENAI),
        hosts=("chatgpt.com", "auth.openai.com", "api.openai.com"),
    )
    metered = True
    cumulative = ("input_tokens", "output_tokens")

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        files = {}
        schema = ""
        if ask.schema is not None and is_strict(ask.schema):
            name = f"schemas/{make_filename(ask.label)}.json"
            files[name] = encode_json(ask.schema)
            schema = str(context.home / name)
        # Inside our sandbox its own fails, and it would edit nothing while it says that it did.
        mode = "workspace-write" if ask.writes else "read-only"
        session = ("fork" if ask.fork else "resume",) if ask.session else ()
        arguments = (
            "exec",
            *option("-s", "danger-full-access" if context.sandboxed else mode),
            *session,
            "--json",
            *_OFF,
            *_config_flags(context),
            *option("-m", context.settings.model),
            *option("--output-schema", schema),
            *((ask.session,) if ask.session else ()),
            "-",
        )
        prompt = structured_prompt(ask) if schema else ask.prompt
        return AgentCall(arguments=arguments, stdin=prompt, files=files)

    def describe_event(self, event: JsonEvent) -> str:
        if event.type != "item.completed":
            return ""
        item = event.get("item")
        if item.type == "agent_message":
            return item.text("text")
        if item.type == "command_execution":
            return item.text("command")
        changes = [change.text("path") for change in item.items("changes")]
        return " ".join(["edited", *changes]) if changes else ""

    def make_meter(self, home: Path) -> ReadEvent:
        return _SessionMeter(home).measure_event

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        found = list(parse_events(ran.stdout))
        started = [event for event in found if event.type == "thread.started"]
        session = started[0].text("thread_id") if started else ""
        opened = tuple(path for event in found for path in _opened_files(event.get("item")))
        end = find_last(found, "turn.completed", "turn.failed")
        if end is None or end.type == "turn.failed":
            message = end.text("error", "message") if end else ""
            failed, trouble = troubles.explain_no_result(ran)
            if message:
                failed, trouble = message, troubles.classify_error(message)
            wait = troubles.parse_retry_delay(message)
            return ParsedReply(
                session=session, opened=opened, failed=failed, trouble=trouble, retry_after=wait
            )
        failed, _ = troubles.explain_exit(ran)
        denied = (_find_denial(event.get("item")) for event in found)
        return ParsedReply(
            text="" if failed else _last_message(found),
            session=session,
            usage=read_usage(end),
            opened=opened,
            denied=tuple(filter(None, denied)),
            failed=failed,
        )


class _SessionMeter:
    """Reads usage from the session file: the stream has none before the end."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._thread = ""

    def measure_event(self, event: JsonEvent) -> Measured | None:
        if event.type == "thread.started":
            self._thread = event.text("thread_id")
        if not event.type.startswith("item.") or not self._thread.replace("-", "").isalnum():
            return None
        usage = _read_session_usage(self._home, self._thread)
        if usage is None:
            return None
        last = event.get("item").type == "agent_message"
        return Measured(key="", usage=usage, continues=not last, of_session=True)


def _read_session_usage(home: Path, thread: str) -> Usage | None:
    """Return the last token counts in the session's file, or None."""
    path = next(home.glob(f".codex/sessions/*/*/*/rollout-*-{thread}.jsonl"), None)
    if path is None:
        return None
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().split(b"\n")
    for line in reversed(lines):
        counted = parse_event(line).get("payload", "info", "total_token_usage")
        if counted.has("input_tokens"):
            return Usage(
                input_tokens=counted.count("input_tokens"),
                output_tokens=counted.count("output_tokens"),
            )
    return None


def _find_denial(item: JsonEvent) -> str:
    return find_denial(item.type, item.text("command"), item.text("status"))


def _last_message(found: Sequence[JsonEvent]) -> str:
    items = (event.get("item") for event in reversed(found))
    return next((item.text("text") for item in items if item.type == "agent_message"), "")


def _provider_config(context: CallContext) -> dict[str, object]:
    """Return the API provider with key and base URL, which Codex does not read from variables."""
    if not context.key:
        return {}
    provider = {
        "name": _PROVIDER,
        "base_url": context.base_url or _OPENAI,
        "env_key": context.key,
        "wire_api": "responses",
        "request_max_retries": 2,  # punchlist retries
        "stream_max_retries": 2,
    }
    return {
        "model_provider": _PROVIDER,
        **{f"model_providers.{_PROVIDER}.{name}": value for name, value in provider.items()},
    }


def _config_flags(context: CallContext) -> Iterator[str]:
    values = {**_CONFIG, **_provider_config(context)}
    if context.settings.effort:
        values["model_reasoning_effort"] = context.settings.effort
    for name, value in values.items():
        yield from ("-c", f"{name}={json.dumps(value)}")  # JSON scalars are TOML scalars


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Return whether the API accepts the schema: every object closed, every property required."""
    properties = schema.get("properties", {})
    closed = "properties" not in schema or (
        schema.get("additionalProperties") is False
        and set(schema.get("required", ())) == set(properties)
    )
    inner = [*properties.values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if isinstance(schema.get("items"), Mapping) else []
    loose = schema.get("type") == "object" and "properties" not in schema
    strict = all(is_strict(each) for each in inner if isinstance(each, Mapping))
    return closed and not loose and strict


def _opened_files(item: JsonEvent) -> Iterator[str]:
    """Yield files that it changed, and those that its shell commands read."""
    yield from (path for change in item.items("changes") if (path := change.text("path")))
    if item.type == "command_execution":
        yield from _parse_reads(item.text("command"))


def _parse_reads(command: str) -> Iterator[str]:
    words = _split_words(command[:_LONGEST_LINE])
    match words:
        case [shell, flag, line, *_] if PurePosixPath(shell).name in _SHELLS and flag.startswith(
            "-"
        ):
            words = _split_words(line)
    before, reading = "|", False
    for word in words:
        if before in _BETWEEN:
            reading = word in _READERS
        elif reading and word not in _BETWEEN and not word.startswith("-"):
            yield word
        before = word


def _split_words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # quotes that do not close
        return []
