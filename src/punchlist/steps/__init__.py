"""The verbs of the workflow language, one file each: a pure step and the
performers of its actions.
"""

from collections.abc import Iterator, MutableMapping
from importlib import import_module

from punchlist.steps.verb import Action, Verb

__all__ = ["VERBS", "Action", "Verb"]


class _VerbTable(MutableMapping[str, Verb]):
    """The verbs by name. A verb's module is imported when the verb is asked for: most workflows
    use few of them.
    """

    def __init__(self, *names: str) -> None:
        self._verbs: dict[str, Verb | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Verb:
        verb = self._verbs[name]
        if verb is None:
            loaded: Verb = import_module(f"{__name__}.{name}").VERB
            verb = self._verbs[name] = loaded
        return verb

    def __setitem__(self, name: str, verb: Verb) -> None:
        self._verbs[name] = verb

    def __delitem__(self, name: str) -> None:
        del self._verbs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._verbs

    def __iter__(self) -> Iterator[str]:
        return iter(self._verbs)

    def __len__(self) -> int:
        return len(self._verbs)


VERBS: MutableMapping[str, Verb] = _VerbTable(
    "review",
    "consolidate",
    "clarify",
    "reproduce",
    "plan",
    "fix",
    "verify",
    "measure",
    "challenge",
    "commit",
    "report",
)
