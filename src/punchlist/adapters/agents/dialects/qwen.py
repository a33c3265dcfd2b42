"""Qwen Code, asked with `qwen -o stream-json`."""

from types import MappingProxyType

from punchlist.adapters.agents.cli_agent import Call, Desk, Told, as_json
from punchlist.adapters.agents.dialects import stream_json
from punchlist.adapters.agents.json_lines import Event
from punchlist.adapters.process.run import Ran
from punchlist.ports.agent import Ask

_ALWAYS = ("-o", "stream-json", "--safe-mode")
"""Safe mode leaves out hooks, extensions, skills and MCP servers, the repository's own among them.
"""
_QUIET = MappingProxyType({"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"})
_SETTINGS = MappingProxyType(
    {
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        # It would go on for minutes without a word; patience is ours.
        "model": {
            "generationConfig": {
                "maxRetries": 1,
                "retryInitialDelayMs": 500,
                "retryMaxDelayMs": 2000,
            }
        },
    }
)


class Qwen:
    program = "qwen"
    keys = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    cumulative = ("input_tokens", "output_tokens")

    def call(self, ask: Ask, desk: Desk) -> Call:
        arguments = [*_ALWAYS, "--approval-mode", "yolo" if ask.writes else "default"]
        if desk.key:
            arguments += ["--auth-type", "openai"]
        if ask.schema is not None:
            arguments += ["--json-schema", as_json(ask.schema)]
        if desk.settings.model:
            arguments += ["--model", desk.settings.model]
        if ask.session:
            arguments += ["--resume", ask.session, *(["--fork-session"] if ask.fork else [])]
        files = {".qwen/settings.json": as_json(_SETTINGS)}
        return Call(arguments=tuple(arguments), stdin=ask.prompt, env=_QUIET, files=files)

    def piece(self, event: Event) -> str:
        return stream_json.piece(event)

    def told(self, ran: Ran, ask: Ask) -> Told:
        return stream_json.told(ran, ask, ("structured_result", "structured_output"))
