"""Journal of agents' answers: an answered question is not paid for twice."""

import asyncio
from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.adapters.agents.cli_agent import make_filename
from punchlist.model.finding.guarded_text import parse_json
from punchlist.ports.agent import Agent, Ask, Hear, Reply
from punchlist.ports.artifacts import Artifacts


class _Entry(Struct, frozen=True):
    label: str
    question: str
    """Digest of the question without its session: after a fork that is another one."""
    reply: Reply


class Journal:
    """Agent that saves each good reply and returns it when asked the same again. A reply is saved
    on this machine (`local`) first, then in `artifacts`, where every machine finds it; not there if
    the agent edits files, because other machines do not have its edits.
    """

    def __init__(self, agent: Agent, artifacts: Artifacts, local: Artifacts) -> None:
        self.name = agent.name
        self._agent = agent
        self._artifacts = artifacts
        self._local = local

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        question = _hash_question(ask)
        entry = await asyncio.to_thread(self._read_entry, ask.label)
        if entry is None or entry.question != question:
            reply = await self._agent.ask(ask, hear)
            if reply.failed:
                return reply
            entry = _Entry(ask.label, question, reply)
            self._local.write(_entry_name(ask.label), msgspec.json.encode(entry))
        return await asyncio.to_thread(self._share, entry, writes=ask.writes)

    def _share(self, entry: _Entry, *, writes: bool) -> Reply:
        """Return the reply, or that which another process has saved for the same question."""
        name, content = _entry_name(entry.label), msgspec.json.encode(entry)
        if writes or self._local.locate(name) == self._artifacts.locate(name):
            return entry.reply
        there = self._artifacts.create(name, content)
        stored = _decode_entry(there, entry.label)
        if stored is not None and stored.question == entry.question:
            return stored.reply
        if there is not None:
            self._artifacts.write(name, content)
        return entry.reply

    def find_reply(self, label: str) -> Reply | None:
        """Return the saved reply under a label, whatever the question was, or None."""
        entry = self._read_entry(label)
        return entry.reply if entry else None

    def forget_reply(self, label: str) -> None:
        name = _entry_name(label)
        for kept in (self._local, self._artifacts):
            if _decode_entry(kept.read(name), label) is not None:
                kept.write(name, b"")

    def _read_entry(self, label: str) -> _Entry | None:
        name = _entry_name(label)
        shared = _decode_entry(self._artifacts.read(name), label)
        return shared or _decode_entry(self._local.read(name), label)


def _decode_entry(content: bytes | None, label: str) -> _Entry | None:
    try:
        entry = parse_json(content, _Entry) if content is not None else None
    except msgspec.DecodeError:  # of another version, or not ours: ask again
        return None
    return entry if entry and entry.label == label else None


def _entry_name(label: str) -> str:
    return f"answers/{make_filename(label)}.json"


def _hash_question(ask: Ask) -> str:
    question = (ask.role, ask.prompt, ask.writes, ask.schema)
    return sha256(msgspec.json.encode(question, order="deterministic")).hexdigest()
