"""Parse YAML of unknown origin: what is too large, nested too deeply, or grows by its aliases is
refused while it is read.
"""

from typing import Any

import yaml

from punchlist.model.finding.guarded_text import (
    FAILURES,
    Unparsable,
    explain_failure,
    nested_too_deeply,
    refuse_large,
)
from punchlist.model.finding.reading_limits import reading_limits

_MOST = 1_000_000
"""Values of a document with all its aliases written out."""


class AliasUsed(Unparsable):
    """The text uses an alias where there may be none."""


class _GuardedLoader(yaml.SafeLoader):
    """Composes nodes with a limit on depth, and on their number with aliases written out."""

    def __init__(self, text: str, *, aliases: bool) -> None:
        super().__init__(text)
        self._aliases = aliases
        self._depth = 0
        self._count = 0
        self._sizes: dict[int, int] = {}
        """By anchored node: how many values it stands for."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._depth += 1
        if self._depth > reading_limits().nesting:
            raise nested_too_deeply()
        before, alias = self._count, self.check_event(yaml.AliasEvent)
        if alias and not self._aliases:
            raise AliasUsed("aliases (*name) are not part of the language")
        node = super().compose_node(parent, index)
        if alias and id(node) not in self._sizes:
            raise Unparsable("an alias stands for what it is part of")
        self._count += self._sizes.get(id(node), 1)
        if self._count > _MOST:
            raise Unparsable("too large: its aliases stand for over a million values")
        self._sizes[id(node)] = self._count - before
        self._depth -= 1
        return node


def parse_yaml(text: str, *, aliases: bool = True) -> Any:
    """Parse one YAML document to plain values. Raise Unparsable, whose cause has YAML's own mark;
    AliasUsed where there may be no aliases.
    """
    refuse_large(text)
    try:
        loader = _GuardedLoader(text, aliases=aliases)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except Unparsable:
        raise
    except (yaml.YAMLError, LookupError, TypeError, AttributeError, *FAILURES) as error:
        raise explain_failure(error) from error
