"""opencode, asked with `opencode run --format json`."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentCall, CallContext, ParsedReply, encode_json
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_ALWAYS = (
    "run",
    "--format",
    "json",
    "--pure",
    "--title",  # else another question is asked, for a title
    "punchlist",
    "--print-logs",  # a model that is asked again is a line there, and not silence
    "--log-level",
    "ERROR",
)
_QUIET = MappingProxyType(
    {
        # the repository's servers, permissions and instructions
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        # a prompt too long would be made shorter and asked again for ever
        "OPENCODE_DISABLE_AUTOCOMPACT": "1",
    }
)
_HIDDEN = (".opencode", "opencode.json", "opencode.jsonc")
"""Plugins named there are run whatever the flags say."""
_CONFIG = ".config/opencode"
_INSTALLED: Mapping[str, str] = {
    f"{_CONFIG}/node_modules/.keep": "",
    f"{_CONFIG}/package-lock.json": encode_json(
        {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    ),
}
"""It takes its library for plugins as installed, and does not fetch it into every new home."""
_READS = encode_json(
    # Each by its name too: a rule of the user's own for a tool would go before the one for all.
    dict.fromkeys(
        (
            "*",
            "edit",
            "bash",
            "task",
            "skill",
            "webfetch",
            "websearch",
            "codesearch",
            "external_directory",
        ),
        "deny",
    )
    | dict.fromkeys(("read", "grep", "glob", "list"), "allow")
)
_EDITS = encode_json(
    {"*": "allow", "external_directory": "allow", "doom_loop": "allow", "question": "deny"}
)
"""What would have to be asked is refused without a person, and ends the whole run as if all were
well.
"""
_MARK = "@"
_BROKEN = ("ECONNRESET", "ECONNREFUSED", "ConnectionClosed")
_NAMED = MappingProxyType(
    {
        "ContextOverflowError": AgentTrouble.TOO_LONG,
        "ProviderAuthError": AgentTrouble.AUTH,
        "MessageOutputLengthError": AgentTrouble.LIMIT,
        "MessageAbortedError": AgentTrouble.CUT,
    }
)
_WAITS = (("retry-after-ms", 0.001), ("retry-after", 1.0))


class Opencode:
    program = "opencode"
    keys = (
        "OPENCODE_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "OPENROUTER_API_KEY",
        "OPENCODE_CONFIG_CONTENT",
    )
    cumulative = ()

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        arguments = list(_ALWAYS)
        if desk.settings.model:
            arguments += ["-m", desk.settings.model]
        if desk.settings.effort:
            arguments += ["--variant", desk.settings.effort]
        session, _, where = ask.session.partition(_MARK)
        if session and where == _hash_folder(ask.folder):
            # In any other folder it would wait for ever.
            arguments += ["-s", session, *(["--fork"] if ask.fork else [])]
        env = {**_QUIET, "OPENCODE_PERMISSION": _EDITS if ask.writes else _READS}
        return AgentCall(
            arguments=tuple(arguments), stdin=ask.prompt, env=env, files=_INSTALLED, hidden=_HIDDEN
        )

    def describe_event(self, event: JsonEvent) -> str:
        match event.text("type"):
            case "text":
                return event.text("part", "text")
            case "tool_use":
                given = event.get("part", "state", "input")
                target = given.text("filePath") or given.text("command") or given.text("pattern")
                return f"{event.text('part', 'tool')} {target}".strip()
            case _:
                return ""

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        found = list(parse_events(ran.stdout))
        session = next((name for event in found if (name := event.text("sessionID"))), "")
        ends = [event for event in found if event.text("type") in ("step_finish", "error")]
        failed, trouble = (
            _explain_failure(ends[-1], ran) if ends else troubles.explain_no_result(ran)
        )
        text = _last_message(found, ends[-1]) if ends and not failed else ""
        if not failed and not text.strip():
            failed, trouble = "its answer is empty", AgentTrouble.OTHER
        return ParsedReply(
            text="" if failed else text,
            session=f"{session}{_MARK}{_hash_folder(ask.folder)}" if session else "",
            usage=_sum_usage(found),
            failed=failed,
            trouble=trouble,
            retry_after=_retry_delay(ends[-1]) if ends and failed else 0,
            opened=tuple(_opened_file(event) for event in found if _opened_file(event)),
        )


def _hash_folder(folder: Path) -> str:
    return sha256(str(folder.resolve()).encode(errors="surrogateescape")).hexdigest()[:12]


def _explain_failure(end: JsonEvent, ran: ProcessResult) -> tuple[str, AgentTrouble | None]:
    if end.text("type") == "error":
        return _classify_error(end.get("error"))
    if (reason := end.text("part", "reason")) != "stop":
        kind = AgentTrouble.LIMIT if reason == "length" else AgentTrouble.CUT
        return f"it ended in the middle of its work ({reason or 'for no reason given'})", kind
    return (
        ("", None)
        if ran.exit_code == 0
        else (f"it ended with code {ran.exit_code} after its result", AgentTrouble.CRASHED)
    )


def _classify_error(error: JsonEvent) -> tuple[str, AgentTrouble]:
    name = error.text("name")
    message = error.text("data", "message") or name or "an error without a message"
    if name in _NAMED:
        return message, _NAMED[name]
    if error.text("data", "metadata", "code") in _BROKEN:
        return message, AgentTrouble.CUT
    return message, troubles.classify_error(message, error.count("data", "statusCode"))


def _retry_delay(end: JsonEvent) -> float:
    headers = end.get("error", "data", "responseHeaders")
    told = ((headers.text(name), unit) for name, unit in _WAITS)
    return next(
        (float(text) * unit for text, unit in told if text.replace(".", "", 1).isdecimal()), 0
    )


def _sum_usage(found: Sequence[JsonEvent]) -> Usage:
    """Return the sum over all steps, with reasoning and cached tokens."""
    steps = [event.get("part") for event in found if event.text("type") == "step_finish"]
    given = (
        part.count("tokens", *name)
        for part in steps
        for name in (("input",), ("cache", "read"), ("cache", "write"))
    )
    written = chain.from_iterable(
        (part.count("tokens", "output"), part.count("tokens", "reasoning")) for part in steps
    )
    return Usage(
        input_tokens=sum(given),
        output_tokens=sum(written),
        dollars=sum(max(part.number("cost"), 0) for part in steps),
    )


def _last_message(found: Sequence[JsonEvent], end: JsonEvent) -> str:
    """Return the text of the message that the last step belongs to."""
    message = end.text("part", "messageID")
    return "".join(
        event.text("part", "text")
        for event in found
        if event.text("type") == "text"
        and event.text("part", "messageID") == message
        and not event.is_true("part", "synthetic")
    )


def _opened_file(event: JsonEvent) -> str:
    """Return the file of a tool call that succeeded, or ''."""
    state = event.get("part", "state")
    completed = event.text("type") == "tool_use" and state.text("status") == "completed"
    return state.text("input", "filePath") if completed else ""
