"""Codex, asked with `codex exec --json`."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import (
    AgentCall,
    CallContext,
    ParsedReply,
    encode_json,
    make_filename,
)
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import Ask

_OFF = (
    # and with it the repository's own, which would be trusted, and whose MCP servers run
    "--ignore-user-config",
    "--ignore-rules",
    "--skip-git-repo-check",
    "--disable",
    "plugins",
    "--disable",
    "apps",
)
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
_READERS = frozenset(
    {"cat", "sed", "nl", "head", "tail", "less", "more", "bat", "awk", "wc", "rg", "grep"}
)
_BETWEEN = frozenset({"|", "||", "&&", ";", "&"})
_LONGEST_LINE = 10_000
_SHELLS = frozenset({"bash", "sh", "zsh"})


class Codex:
    program = "codex"
    keys = ("CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")
    cumulative = ("input_tokens", "output_tokens")

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        sandbox = (
            "workspace-write" if ask.writes else "read-only"
        )  # its own walls stand inside ours
        arguments = ["exec", "-s", sandbox]
        if ask.session:
            arguments.append("fork" if ask.fork else "resume")
        arguments += [
            "--json",
            *_OFF,
            *_config_flags({**_CONFIG, **_provider_config(desk), **_effort_config(desk)}),
        ]
        files = {}
        if desk.settings.model:
            arguments += ["-m", desk.settings.model]
        if ask.schema is not None and is_strict(ask.schema):
            name = f"schemas/{make_filename(ask.label)}.json"
            files[name] = encode_json(ask.schema)
            arguments += ["--output-schema", str(desk.home / name)]
        arguments += [ask.session, "-"] if ask.session else ["-"]
        return AgentCall(arguments=tuple(arguments), stdin=ask.prompt, files=files)

    def describe_event(self, event: JsonEvent) -> str:
        if event.text("type") != "item.completed":
            return ""
        said = {"agent_message": "text", "command_execution": "command"}.get(
            event.text("item", "type"), ""
        )
        changes = [change.text("path") for change in event.items("item", "changes")]
        return (
            event.text("item", said) if said else " ".join(["edited", *changes]) if changes else ""
        )

    def parse_output(
        self, ran: ProcessResult, ask: Ask
    ) -> ParsedReply:  # the shape of the port; its answer is text, whatever was asked
        found = list(parse_events(ran.stdout))
        session = next(
            (event.text("thread_id") for event in found if event.text("type") == "thread.started"),
            "",
        )
        opened = tuple(path for event in found for path in _opened_files(event.get("item")))
        ends = [event for event in found if event.text("type") in ("turn.completed", "turn.failed")]
        if not ends or ends[-1].text("type") == "turn.failed":
            message = ends[-1].text("error", "message") if ends else ""
            failed, trouble = (
                (message, troubles.classify_error(message))
                if message
                else troubles.explain_no_result(ran)
            )
            wait = troubles.parse_retry_delay(message)
            return ParsedReply(
                session=session, opened=opened, failed=failed, trouble=trouble, retry_after=wait
            )
        usage = Usage(
            input_tokens=ends[-1].count("usage", "input_tokens"),
            output_tokens=ends[-1].count("usage", "output_tokens"),
        )
        failed = (
            "" if ran.exit_code == 0 else f"it ended with code {ran.exit_code} after its result"
        )
        text = "" if failed else _last_message(found)
        return ParsedReply(text=text, session=session, usage=usage, opened=opened, failed=failed)


def _last_message(found: Sequence[JsonEvent]) -> str:
    said = (
        event.text("item", "text")
        for event in reversed(found)
        if event.text("item", "type") == "agent_message"
    )
    return next(said, "")


def _provider_config(desk: CallContext) -> dict[str, object]:
    """Return the API provider with key and base URL, which Codex does not read from variables; {}
    without a key.
    """
    if not desk.key:
        return {}
    there = {
        "name": _PROVIDER,
        "base_url": desk.base_url or _OPENAI,
        "env_key": desk.key,
        "wire_api": "responses",
        "request_max_retries": 2,  # patience is ours
        "stream_max_retries": 2,
    }
    return {
        "model_provider": _PROVIDER,
        **{f"model_providers.{_PROVIDER}.{name}": value for name, value in there.items()},
    }


def _effort_config(desk: CallContext) -> dict[str, object]:
    return {"model_reasoning_effort": desk.settings.effort} if desk.settings.effort else {}


def _config_flags(values: Mapping[str, object]) -> Iterator[str]:
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
    return (
        closed and not loose and all(is_strict(each) for each in inner if isinstance(each, Mapping))
    )


def _opened_files(item: JsonEvent) -> Iterator[str]:
    """Yield files that it changed, and those that its shell commands read."""
    yield from (path for change in item.items("changes") if (path := change.text("path")))
    if item.text("type") == "command_execution":
        yield from _parse_reads(item.text("command"))


def _parse_reads(command: str) -> Iterator[str]:
    words = _split_words(command[:_LONGEST_LINE])
    if (
        len(words) > 2 and PurePosixPath(words[0]).name in _SHELLS and words[1].startswith("-")
    ):  # shell, flag, line
        words = _split_words(words[2])
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
