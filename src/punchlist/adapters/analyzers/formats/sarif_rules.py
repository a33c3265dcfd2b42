"""The rules of a SARIF run and their message texts."""

import re

import msgspec

from punchlist.adapters.analyzers.entries import decode_json
from punchlist.adapters.formats.sarif import (
    Driver,
    Rule,
    RuleReference,
    SarifMessage,
    SarifResult,
    SarifTool,
)
from punchlist.model.finding.late_pattern import late_pattern

_PLACEHOLDER = late_pattern(r"\{\{|\}\}|\{(\d{1,4})\}")
_LINK = late_pattern(r"(?<!\\)\[((?:\\.|[^\[\]\\]){1,500})\]\([^()\s]{1,2000}\)")
_ESCAPED = late_pattern(r"\\([\[\]\\])")


class SarifRules:
    """Rules by id, else by the id without its last part, else by index."""

    def __init__(self, tool: SarifTool) -> None:
        self._texts = tool.driver.global_message_strings or {}
        self._driver = _decode_rules(tool.driver)
        rules = [*self._driver]
        for extension in tool.extensions or ():
            rules += _decode_rules(extension)
        self._by_id = {rule.id: rule for rule in reversed(rules) if rule}

    def find_rule(self, result: SarifResult) -> tuple[str, Rule | None]:
        """Return the rule's id, and the rule or None."""
        reference = result.rule or RuleReference()
        name = result.rule_id or reference.id or ""
        index = reference.index if result.rule_index is None else result.rule_index
        rule = self._by_id.get(name) or self._by_id.get(name.rsplit("/", 1)[0])
        if rule is None and index is not None and 0 <= index < len(self._driver):
            rule = self._driver[index]
        return name or (rule.id if rule else ""), rule

    def render_message(self, message: SarifMessage, rule: Rule | None) -> str:
        """Return a message as plain text: placeholders filled, links as their words."""
        own = (rule.message_strings if rule else None) or {}
        found = (own.get(message.id) or self._texts.get(message.id)) if message.id else None
        text = message.text or (found.text if found else None) or message.markdown or ""
        return _strip_links(_fill_arguments(text, message.arguments or []))


def _decode_rules(driver: Driver) -> list[Rule | None]:
    """Return the rules by index, None for one that cannot be decoded."""
    return [_decode_rule(raw) for raw in driver.rules or ()]


def _decode_rule(raw: msgspec.Raw) -> Rule | None:
    try:
        return decode_json(bytes(raw), Rule, strict=False)
    except msgspec.DecodeError:
        return None


def _fill_arguments(text: str, arguments: list[str]) -> str:
    if not arguments:
        return text

    def pick_argument(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        number = int(match[1])
        return arguments[number] if number < len(arguments) else match[0]

    return _PLACEHOLDER.sub(pick_argument, text)


def _strip_links(text: str) -> str:
    return _ESCAPED.sub(r"\1", _LINK.sub(r"\1", text)) if "[" in text or "\\" in text else text
