"""Answers written down before anybody acts on them, so that none is paid for twice."""

from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.adapters.agents.cli_agent import plain
from punchlist.ports.agent import Agent, Ask, Hear, Reply
from punchlist.ports.artifacts import Artifacts


class _Entry(Struct, frozen=True):
    label: str
    question: str
    """Digest of all that was asked, but for the session: that is another one after a fork, and the
    question still the same.
    """
    reply: Reply


class Journal:
    """An Agent that remembers. Failures are not kept: after a kill they are worth another try."""

    def __init__(self, agent: Agent, artifacts: Artifacts) -> None:
        self._agent = agent
        self._artifacts = artifacts

    @property
    def name(self) -> str:
        return self._agent.name

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        question = _digest(ask)
        entry = self._entry(ask.label)
        if entry and entry.question == question:
            return entry.reply
        reply = await self._agent.ask(ask, hear)
        if not reply.failed:
            self._artifacts.write(
                _file(ask.label), msgspec.json.encode(_Entry(ask.label, question, reply))
            )
        return reply

    def answered(self, label: str) -> Reply | None:
        """What was answered under a label, whatever the question was."""
        entry = self._entry(label)
        return entry.reply if entry else None

    def _entry(self, label: str) -> _Entry | None:
        content = self._artifacts.read(_file(label))
        try:
            entry = msgspec.json.decode(content, type=_Entry) if content is not None else None
        except msgspec.DecodeError:  # of another version, or not ours: ask again
            return None
        return entry if entry and entry.label == label else None


def _file(label: str) -> str:
    return f"answers/{plain(label)}.json"


def _digest(ask: Ask) -> str:
    whole = msgspec.json.encode(
        (ask.role, ask.prompt, ask.writes, ask.schema), order="deterministic"
    )
    return sha256(whole).hexdigest()
