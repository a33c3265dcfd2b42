"""Gemini CLI, asked with `gemini -o stream-json`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentCall, CallContext, ParsedReply, encode_json
from punchlist.adapters.agents.json_lines import JsonEvent, parse_events
from punchlist.adapters.process.run import ProcessResult
from punchlist.model.item.usage import Usage
from punchlist.ports.agent import AgentTrouble, Ask

_MODEL = "pro"
"""Its own name for its best model. Without a name it asks another model first which one to take."""
_AUTH = MappingProxyType({"GEMINI_API_KEY": "gemini-api-key", "GOOGLE_API_KEY": "vertex-ai"})
_LOGIN = "oauth-personal"
_SETTINGS: Mapping[str, object] = {
    "general": {
        "enableAutoUpdate": False,
        "maxAttempts": 3,  # it would try ten times without a word; patience is ours
        "sessionRetention": {"enabled": False},
    },
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "advanced": {
        "ignoreLocalEnv": True
    },  # the repository's .env would set the address that the key is sent to
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
"""A file of its own: what the settings say holds for all calls in this home, also for a fixer's
beside this one.
"""
_HIDDEN = (".gemini/.env",)
"""Its variables become the program's own, and no setting prevents that: they name another system
prompt, or another server.
"""
_ENVIRONMENT = MappingProxyType({"GEMINI_CLI_NO_RELAUNCH": "true"})
"""As the parent of itself it does not heed signals, and takes half as much memory again."""

_STDIN_LIMIT = 8 << 20
"""Bytes of a prompt; the rest is cut off without an error."""
_CODES = MappingProxyType(
    {41: AgentTrouble.AUTH, 53: AgentTrouble.LIMIT}
    | {status % 256: trouble for status, trouble in troubles.STATUSES.items()}
)
"""It ends with a code of its own, or with the status of HTTP as far as that fits into a byte."""
_BROKEN = ("terminated", "fetch failed", "socket hang up", "ECONNRESET", "premature close")
_PATHS = ("file_path", "absolute_path")


class Gemini:
    program = "gemini"
    keys = (
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
    )
    cumulative = ()

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        auth = {"auth": {"selectedType": _AUTH.get(desk.key, _LOGIN)}}
        files = {".gemini/settings.json": encode_json({**_SETTINGS, "security": auth})}
        # The folder has to be trusted, or nothing runs. Trusted for one session only, its hooks and
        # servers are still not loaded.
        arguments = ["-o", "stream-json", "--skip-trust", "-m", desk.settings.model or _MODEL]
        if ask.writes:
            arguments += ["--approval-mode", "yolo"]
        else:
            files[_POLICY] = _READ_ONLY
            arguments += ["--approval-mode", "default", "--admin-policy", str(desk.home / _POLICY)]
        if ask.session and (saved := _find_session(desk.home, ask.session)):
            # From its file a session goes on in a copy and in any folder; by its name only where it
            # began.
            arguments += ["--session-file", str(saved)]
        env = {**_ENVIRONMENT, "GEMINI_CLI_HOME": str(desk.home)}
        return AgentCall(
            arguments=tuple(arguments), stdin=ask.prompt, env=env, files=files, hidden=_HIDDEN
        )

    def describe_event(self, event: JsonEvent) -> str:
        match event.text("type"), event.text("role"):
            case "message", "assistant":
                return event.text("content")
            case "tool_use", _:
                target = _tool_path(event) or event.text("parameters", "command")
                return f"{event.text('tool_name')} {target}".strip()
            case _:
                return ""

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        found = list(parse_events(ran.stdout))
        session = next((name for event in found if (name := event.text("session_id"))), "")
        opened = tuple(_opened_files(found))
        result = next((event for event in reversed(found) if event.text("type") == "result"), None)
        usage = _read_usage(result) if result else Usage()
        text = _last_message(found)
        failed, trouble = (
            _explain_failure(result, found, ran) if result else _explain_no_result(ran)
        )
        if not failed and len(ask.prompt.encode(errors="replace")) > _STDIN_LIMIT:
            failed, trouble = (
                f"the prompt is over {_STDIN_LIMIT} bytes, and was cut",
                AgentTrouble.TOO_LONG,
            )
        if not failed and not text.strip():
            failed, trouble = "its answer is empty", AgentTrouble.OTHER
        wait = troubles.parse_retry_delay(failed) if failed else 0
        text = "" if failed else text
        return ParsedReply(
            text=text,
            session=session,
            usage=usage,
            opened=opened,
            failed=failed,
            trouble=trouble,
            retry_after=wait,
        )


def _find_session(home: Path, session: str) -> Path | None:
    """Return the session's file, or None: the largest match, because a copy leaves an empty one."""
    start = session.partition("-")[0]
    kept = home.glob(f".gemini/tmp/*/chats/session-*-{start}.jsonl") if start.isalnum() else ()
    return max(kept, key=lambda path: path.stat().st_size, default=None)


def _explain_failure(
    result: JsonEvent, found: Sequence[JsonEvent], ran: ProcessResult
) -> tuple[str, AgentTrouble | None]:
    if result.text("status") == "success":
        ended = "" if ran.exit_code == 0 else f"it ended with code {ran.exit_code} after its result"
        return ended, AgentTrouble.CRASHED if ended else None
    said = (event.text("message") for event in reversed(found) if event.text("type") == "error")
    message = result.text("error", "message") or next(said, "") or "an error without a message"
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
    given, written = result.count("stats", "input_tokens"), result.count("stats", "output_tokens")
    return Usage(
        input_tokens=given,
        output_tokens=max(written, result.count("stats", "total_tokens") - given),
    )


def _last_message(found: Sequence[JsonEvent]) -> str:
    """Return the text after the last tool result."""
    said: list[str] = []
    for event in found:
        if event.text("type") == "tool_result":
            said.clear()
        elif event.text("type") == "message" and event.text("role") == "assistant":
            said.append(event.text("content"))
    return "".join(said)


def _opened_files(found: Sequence[JsonEvent]) -> Iterator[str]:
    """Yield the files of tool calls that succeeded."""
    asked = {
        event.text("tool_id"): _tool_path(event)
        for event in found
        if event.text("type") == "tool_use"
    }
    for event in found:
        done = event.text("type") == "tool_result" and event.text("status") == "success"
        if done and (path := asked.get(event.text("tool_id"))):
            yield path


def _tool_path(event: JsonEvent) -> str:
    return next((path for name in _PATHS if (path := event.text("parameters", name))), "")
