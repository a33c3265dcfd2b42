"""The rules of a SARIF run, and the texts that results borrow from them."""

import re

import msgspec

from punchlist.adapters.analyzers.entries import decoded
from punchlist.adapters.formats.sarif import Driver, Message, Result, Rule, Tool

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\d{1,4})\}")
_LINK = re.compile(r"(?<!\\)\[((?:\\.|[^\[\]\\]){1,500})\]\([^()\s]{1,2000}\)")
_ESCAPED = re.compile(r"\\([\[\]\\])")


class Rules:
    """Looked up by id, else by the id's first parts, else by the index that the result gives."""

    def __init__(self, tool: Tool) -> None:
        self._texts = tool.driver.global_message_strings or {}
        self._driver = _rules(tool.driver)
        everything = [
            rule for driver in (tool.driver, *(tool.extensions or ())) for rule in _rules(driver)
        ]
        self._by_id = {rule.id: rule for rule in reversed(everything) if rule}

    def of(self, result: Result) -> tuple[str, Rule | None]:
        """The rule's id, and what is known about it."""
        reference = result.rule
        said = result.rule_id or (reference.id if reference else None) or ""
        index = (
            result.rule_index
            if result.rule_index is not None
            else (reference.index if reference else None)
        )
        rule = self._by_id.get(said) or self._by_id.get(said.rsplit("/", 1)[0])
        if rule is None and index is not None and 0 <= index < len(self._driver):
            rule = self._driver[index]
        return said or (rule.id if rule else ""), rule

    def text(self, message: Message, rule: Rule | None) -> str:
        """A message as plain text: looked up, filled in, links as their words."""
        own = (rule.message_strings if rule else None) or {}
        found = (own.get(message.id) or self._texts.get(message.id)) if message.id else None
        text = message.text or (found.text if found else None) or message.markdown or ""
        return _plain(_filled(text, message.arguments or []))


def _rules(driver: Driver) -> list[Rule | None]:
    """In their places, None for one that cannot be read: indexes must keep their meaning."""
    return [_rule(raw) for raw in driver.rules or ()]


def _rule(raw: msgspec.Raw) -> Rule | None:
    try:
        return decoded(bytes(raw), Rule, strict=False)
    except msgspec.DecodeError:
        return None


def _filled(text: str, arguments: list[str]) -> str:
    if not arguments:
        return text

    def value(match: "re.Match[str]") -> str:
        if match[1] is None:
            return match[0][0]
        number = int(match[1])
        return arguments[number] if number < len(arguments) else match[0]

    return _PLACEHOLDER.sub(value, text)


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", _LINK.sub(r"\1", text)) if "[" in text or "\\" in text else text
