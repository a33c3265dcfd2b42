"""Qwen Code, asked with `qwen -o stream-json`."""

from pathlib import Path

from punchlist.adapters.agents.dialect import (
    AgentCall,
    CallContext,
    ParsedReply,
    ReadEvent,
    encode_json,
    option,
    schema_option,
    structured_prompt,
)
from punchlist.adapters.agents.dialects import stream_json
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.agents.model_access import ModelAccess, ModelEndpoint
from punchlist.adapters.process.run import ProcessResult
from punchlist.ports.agent import Ask

_ALWAYS = ("-o", "stream-json", "--safe-mode")
"""Safe mode loads no hooks, extensions, skills and MCP servers, also not the repository's own."""
_QUIET = {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
# Else it retries for minutes without a word; punchlist retries.
_RETRIES = {"maxRetries": 1, "retryInitialDelayMs": 500, "retryMaxDelayMs": 2000}
_SETTINGS = {
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
    "model": {"generationConfig": _RETRIES},
}


class Qwen:
    program = "qwen"
    keys = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    access = ModelAccess(
        ModelEndpoint(keys[:1], keys[1], "https://api.openai.com/v1"),
        hosts=("chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com"),
    )
    metered = True
    cumulative = ("input_tokens", "output_tokens")

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        arguments = (
            *_ALWAYS,
            *option("--approval-mode", "yolo" if ask.writes else "default"),
            *option("--auth-type", "openai" if context.key else ""),
            *schema_option("--json-schema", ask),
            *option("--model", context.settings.model),
            *stream_json.session_options(ask),
        )
        files = {".qwen/settings.json": encode_json(_SETTINGS)}
        prompt = structured_prompt(ask)
        return AgentCall(arguments=arguments, stdin=prompt, env=_QUIET, files=files)

    def describe_event(self, event: JsonEvent) -> str:
        return stream_json.describe_event(event)

    def make_meter(self, home: Path) -> ReadEvent:
        return stream_json.measure_event

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        return stream_json.parse_output(ran, ask, ("structured_result", "structured_output"))
