"""Whose word counts for each setting while a worker of a fleet drives a run of another user.

A setting that can name a program, a path, a host or a secret, or that loosens the sandbox, is never
the run's alone. A test fails for a setting that is not declared here.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Struct

ANY_NAME = "*"
"""In the place of a name of the user's choosing, as in `agent.*.command`."""


class Word(Enum):
    RUN = "the run's"
    """Who queues decides: it names neither a program, nor a path, a host or a secret."""
    MACHINE = "each machine's own"
    """No run uses it, or a run uses that of the machine it is on."""
    WORKER = "the worker's"
    """What the run says is left out, and that is said."""
    DEFINED = "the worker's definition"
    """A run that says nothing gets the worker's; one that says something else is refused."""
    OFFERED = "what the worker offers"
    """A run has exactly what the worker's settings or the base commit have, or nothing; one that
    has something else is refused.
    """
    EITHER = "true if either says so"
    BOTH = "true if both say so"
    COMMON = "what both list"
    """A run that lists nothing gets what the worker lists."""
    LEAST = "the lower limit; 0 is none"


WORDS: Mapping[Word, tuple[str, ...]] = {
    Word.RUN: (
        *("workflow", "coverage", "detect-checks", "detect-gates", "rounds", "threshold"),
        *("commits", "commit-subject", "documents", "limits.width", "limits.spread"),
        *("review.select", "review.ignore", "review.exclude", "review.min-severity"),
        *("review.new-only", "review.fail-on", "protect.configuration", "protect.tests"),
        *("analyzers.enabled", "analyzers.select", "analyzers.rules", "analyzers.extend_select"),
        *("analyzers.ast_grep_rules", "analyzers.unreviewed", "analyzers.timeout"),
        *("analyzers.leave_out", "analyzers.leave_out_generated", "analyzers.languages"),
        *("track.labels", "keep.days", "keep.local"),
        *("agents.use", "agents.timeout", "agents.silence", "agents.retries"),
        *("agents.prompt-limit", "agent.*.model", "agent.*.effort", "agent.*.timeout"),
        *("agent.*.silence", "role.*.agents", "role.*.model", "role.*.effort", "role.*.timeout"),
    ),
    Word.MACHINE: (
        *("store", "objects", "objects-cache", "traces", "setup.hosts"),
        *("limits.daily", "limits.monthly", "limits.repository", "limits.pull-request"),
        *("fleet.lease", "fleet.per-repository", "fleet.per-agent", "fleet.mirrors"),
        *("fleet.trust", "fleet.sources"),
        *("serve.headers", "serve.body", "serve.idle", "serve.unread", "serve.connections"),
        *("serve.waiting", "serve.runs", "webhooks.github", "webhooks.gitlab", "webhooks.gitea"),
        *("pr.resolve", "pr.fixes", "pr.push-for", "pr.comments", "pr.pause"),
        *("role.*.prompt",),  # its text is a file of the run
    ),
    Word.WORKER: ("agents.logins", "agent.*.login"),
    Word.DEFINED: (
        *("agent.*.kind", "agent.*.command", "agent.*.env", "agent.*.keys", "agent.*.keyless"),
        *("agent.*.script", "agent.*.answer", "agent.*.input-price", "agent.*.output-price"),
        *("track.forge", "track.api", "track.token", "track.app", "track.app-key"),
        *("track.app-key-file", "keep.endpoint"),
    ),
    Word.OFFERED: (
        *("checks", "analyzers.args", "analyzers.semgrep", "analyzers.ast_grep"),
        *("analyzers.custom", "track.to", "track.folder", "track.repository", "keep.to"),
    ),
    Word.EITHER: ("sandbox.required", "agents.sandbox"),
    Word.BOTH: ("sandbox.unfenced",),
    Word.COMMON: ("sandbox.read", "agents.hosts", "agent.*.hosts"),
    Word.LEAST: (
        *("limits.time", "limits.dollars", "limits.files", "limits.depth", "limits.file-size"),
        *("limits.nesting", "limits.report-size"),
    ),
}
_BY_NAME = {name: word for word, names in WORDS.items() for name in names}


def find_word(name: str) -> Word:
    """Return whose word counts; of an undeclared setting it is each machine's own."""
    return _BY_NAME.get(name, Word.MACHINE)


def list_leaves(kind: type[Struct], path: str = "") -> Iterator[str]:
    """Yield the full name of every setting, with `*` for names of the user's choosing."""
    for field in msgspec.structs.fields(kind):
        name = f"{path}{field.encode_name}"
        if inner := find_table(field.type):
            yield from list_leaves(inner, f"{name}.")
        elif inner := find_named_tables(field.type):
            yield from list_leaves(inner, f"{name}.{ANY_NAME}.")
        else:
            yield name


def find_table(kind: Any) -> type[Struct] | None:
    """Return the struct that a setting is, if it is one."""
    return kind if isinstance(kind, type) and issubclass(kind, Struct) else None


def find_named_tables(kind: Any) -> type[Struct] | None:
    """Return the struct of each entry, if the setting is a table of tables."""
    return find_table(get_args(kind)[1]) if get_origin(kind) is dict else None
