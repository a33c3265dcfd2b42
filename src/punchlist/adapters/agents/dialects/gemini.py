"""Gemini CLI, asked with `gemini -o stream-json`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.denials import find_denial
from punchlist.adapters.agents.dialect import (
    AgentCall,
    CallContext,
    ParsedReply,
    Unmetered,
    encode_json,
    require_text,
)
from punchlist.adapters.agents.json_lines import JsonEvent, find_last, first_text, parse_events
from punchlist.adapters.agents.model_access import ModelAccess, ModelEndpoint
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_MODEL = "pro"
"""Its name for its best model; without a name it first asks another model which one to take."""
_AUTH = {"GEMINI_API_KEY": "gemini-api-key", "GOOGLE_API_KEY": "vertex-ai"}
_LOGIN = "oauth-personal"
_SETTINGS: Mapping[str, object] = {
    "general": {
        "enableAutoUpdate": False,
        "maxAttempts": 3,  # else it tries ten times without a word; punchlist retries
        "sessionRetention": {"enabled": False},
    },
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    # The repository's .env could set the address that the key is sent to.
    "advanced": {"ignoreLocalEnv": True},
}
_READ_ONLY = """\
[[rule]]
toolName = ["read_file", "read_many_files", "glob", "grep_search", "list_directory"]
decision = "allow"
priority = 990

[[rule]]
toolName = "*"
decision = "deny"
priority = 980
"""
_POLICY = ".gemini/read-only.toml"
"""Not in the settings: these hold for all calls in this home, also for a fixer's."""
_HIDDEN = (".gemini/.env",)
"""No setting keeps it from reading these variables, which can name a system prompt or a server."""
_ENVIRONMENT = {"GEMINI_CLI_NO_RELAUNCH": "true"}
"""Relaunched by itself it ignores signals and takes half as much memory again."""

_STDIN_LIMIT = 8 << 20
"""Bytes of a prompt; it cuts off the rest without an error."""
_CODES = {41: AgentTrouble.AUTH, 53: AgentTrouble.LIMIT} | {
    status % 256: trouble for status, trouble in troubles.STATUSES.items()
}
"""Its exit codes: its own, or the low byte of the HTTP status."""
_BROKEN = ("terminated", "fetch failed", "socket hang up", "ECONNRESET", "premature close")
_PATHS = ("file_path", "absolute_path")


class Gemini(Unmetered):
    program = "gemini"
    keys = tuple(
        "GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_GEMINI_BASE_URL GOOGLE_CLOUD_PROJECT"
        " GOOGLE_CLOUD_LOCATION".split()
    )
    access = ModelAccess(
        ModelEndpoint(
            ("GEMINI_API_KEY",),
            "GOOGLE_GEMINI_BASE_URL",
            "https://generativelanguage.googleapis.com",
        ),
        hosts=(
            "generativelanguage.googleapis.com",
            "cloudcode-pa.googleapis.com",
            "oauth2.googleapis.com",
            "aiplatform.googleapis.com",
            "*.aiplatform.googleapis.com",
        ),
    )
    cumulative = ()

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        home = context.home
        auth = {"auth": {"selectedType": _AUTH.get(context.key, _LOGIN)}}
        files = {".gemini/settings.json": encode_json({**_SETTINGS, "security": auth})}
        # It runs only in a trusted folder; trusted for one session, it loads no hooks and servers.
        arguments = ["-o", "stream-json", "--skip-trust", "-m", context.settings.model or _MODEL]
        if ask.writes:
            arguments += ["--approval-mode", "yolo"]
        else:
            files[_POLICY] = _READ_ONLY
            arguments += ["--approval-mode", "default", "--admin-policy", str(home / _POLICY)]
        if ask.session and (saved := _find_session(home, ask.session)):
            # From its file a session is forked, in any folder; by name it goes on where it began.
            arguments += ["--session-file", str(saved)]
        env = {**_ENVIRONMENT, "GEMINI_CLI_HOME": str(home)}
        return AgentCall(
            arguments=tuple(arguments), stdin=ask.prompt, env=env, files=files, hidden=_HIDDEN
        )

    def describe_event(self, event: JsonEvent) -> str:
        match event.type, event.text("role"):
            case "message", "assistant":
                return event.text("content")
            case "tool_use", _:
                target = _tool_path(event) or event.text("parameters", "command")
                return f"{event.text('tool_name')} {target}".strip()
            case _:
                return ""

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        found = list(parse_events(ran.stdout))
        result = find_last(found, "result")
        failed, trouble = (
            _explain_failure(result, found, ran) if result else _explain_no_result(ran)
        )
        if not failed and len(ask.prompt.encode(errors="replace")) > _STDIN_LIMIT:
            failed = f"the prompt is over {_STDIN_LIMIT} bytes, and was cut"
            trouble = AgentTrouble.TOO_LONG
        reply = ParsedReply(
            text=_last_message(found),
            session=first_text(found, "session_id"),
            usage=_read_usage(result) if result else Usage(),
            opened=tuple(_opened_files(found)),
            denied=tuple(filter(None, _list_denials(found))),
            failed=failed,
            trouble=trouble,
            retry_after=troubles.parse_retry_delay(failed),
        )
        return require_text(reply)


def _find_session(home: Path, session: str) -> Path | None:
    """Return the session's file, or None: the largest match, because a copy leaves an empty one."""
    start = session.partition("-")[0]
    kept = home.glob(f".gemini/tmp/*/chats/session-*-{start}.jsonl") if start.isalnum() else ()
    return max(kept, key=lambda path: path.stat().st_size, default=None)


def _explain_failure(
    result: JsonEvent, found: Sequence[JsonEvent], ran: ProcessResult
) -> tuple[str, AgentTrouble | None]:
    if result.text("status") == "success":
        return troubles.explain_exit(ran)
    error = find_last(found, "error")
    said = result.text("error", "message") or (error.text("message") if error else "")
    message = said or "an error without a message"
    if (known := _CODES.get(ran.exit_code or 0)) is not None:
        return message, known
    if any(word in message for word in _BROKEN):
        return message, AgentTrouble.CUT
    return message, troubles.classify_error(message)


def _explain_no_result(ran: ProcessResult) -> tuple[str, AgentTrouble]:
    """Return the failure of a run without a result, classified by its exit code."""
    words, trouble = troubles.explain_no_result(ran)
    return words, _CODES.get(ran.exit_code or 0, trouble)


def _read_usage(result: JsonEvent) -> Usage:
    """Return the usage; thinking tokens are only in the total, and count as output."""
    stats = result.get("stats")
    given = stats.count("input_tokens")
    written = max(stats.count("output_tokens"), stats.count("total_tokens") - given)
    return Usage(input_tokens=given, output_tokens=written)


def _last_message(found: Sequence[JsonEvent]) -> str:
    """Return the text after the last tool result."""
    pieces: list[str] = []
    for event in found:
        if event.type == "tool_result":
            pieces.clear()
        elif event.type == "message" and event.text("role") == "assistant":
            pieces.append(event.text("content"))
    return "".join(pieces)


def _opened_files(found: Sequence[JsonEvent]) -> Iterator[str]:
    """Yield the files of tool calls that succeeded."""
    used = [event for event in found if event.type == "tool_use"]
    paths = {event.text("tool_id"): _tool_path(event) for event in used}
    for event in found:
        done = event.type == "tool_result" and event.text("status") == "success"
        if done and (path := paths.get(event.text("tool_id"))):
            yield path


def _list_denials(found: Sequence[JsonEvent]) -> Iterator[str]:
    used = {event.text("tool_id"): event for event in found if event.type == "tool_use"}
    for event in found:
        call = used.get(event.text("tool_id"))
        if call is not None and event.type == "tool_result" and event.text("status") == "error":
            target = _tool_path(call) or call.text("parameters", "command")
            why = f"{event.text('error', 'message')} {event.text('output')}"
            yield find_denial(call.text("tool_name"), target, why)


def _tool_path(event: JsonEvent) -> str:
    return next((path for name in _PATHS if (path := event.text("parameters", name))), "")
