"""Qwen Code, asked with `qwen -o stream-json`."""

from types import MappingProxyType

from punchlist.adapters.agents.cli_agent import AgentCall, CallContext, ParsedReply, encode_json
from punchlist.adapters.agents.dialects import stream_json
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.process.run import ProcessResult
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

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:
        arguments = [*_ALWAYS, "--approval-mode", "yolo" if ask.writes else "default"]
        if desk.key:
            arguments += ["--auth-type", "openai"]
        if ask.schema is not None:
            arguments += ["--json-schema", encode_json(ask.schema)]
        if desk.settings.model:
            arguments += ["--model", desk.settings.model]
        if ask.session:
            arguments += ["--resume", ask.session, *(["--fork-session"] if ask.fork else [])]
        files = {".qwen/settings.json": encode_json(_SETTINGS)}
        return AgentCall(arguments=tuple(arguments), stdin=ask.prompt, env=_QUIET, files=files)

    def describe_event(self, event: JsonEvent) -> str:
        return stream_json.describe_event(event)

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        return stream_json.parse_output(ran, ask, ("structured_result", "structured_output"))
