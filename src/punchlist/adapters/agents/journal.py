"""Journal of agents' answers: an answered question is not paid for twice."""

from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.adapters.agents.cli_agent import make_filename
from punchlist.ports.agent import Agent, Ask, Hear, Reply
from punchlist.ports.artifacts import Artifacts


class _Entry(Struct, frozen=True):
    label: str
    question: str
    """Digest of the question without its session: after a fork that is another one."""
    reply: Reply


class Journal:
    """Agent that saves each good reply and returns it when asked the same again."""

    def __init__(self, agent: Agent, artifacts: Artifacts) -> None:
        self.name = agent.name
        self._agent = agent
        self._artifacts = artifacts

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        question = _hash_question(ask)
        entry = self._read_entry(ask.label)
        if entry and entry.question == question:
            return entry.reply
        reply = await self._agent.ask(ask, hear)
        if not reply.failed:
            entry = _Entry(ask.label, question, reply)
            self._artifacts.write(_entry_name(ask.label), msgspec.json.encode(entry))
        return reply

    def find_reply(self, label: str) -> Reply | None:
        """Return the saved reply under a label, whatever the question was, or None."""
        entry = self._read_entry(label)
        return entry.reply if entry else None

    def forget_reply(self, label: str) -> None:
        if self._read_entry(label) is not None:
            self._artifacts.write(_entry_name(label), b"")

    def _read_entry(self, label: str) -> _Entry | None:
        content = self._artifacts.read(_entry_name(label))
        try:
            entry = msgspec.json.decode(content, type=_Entry) if content is not None else None
        except msgspec.DecodeError:  # of another version, or not ours: ask again
            return None
        return entry if entry and entry.label == label else None


def _entry_name(label: str) -> str:
    return f"answers/{make_filename(label)}.json"


def _hash_question(ask: Ask) -> str:
    question = (ask.role, ask.prompt, ask.writes, ask.schema)
    return sha256(msgspec.json.encode(question, order="deterministic")).hexdigest()
