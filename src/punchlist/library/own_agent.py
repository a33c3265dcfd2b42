"""An agent that is a function of the program that uses punchlist."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from punchlist.ports.agent import AgentTrouble, Ask, Hear, Reply

AnswerPrompt = Callable[[str, Path], Awaitable[str]]
"""Receives the prompt and the folder to edit, and returns the answer."""


class FunctionAgent:
    """Asks a function of yours. It runs in your process, without a sandbox; an exception of it is a
    failed call.
    """

    def __init__(self, name: str, answer: AnswerPrompt) -> None:
        self.name = name
        self._answer = answer

    async def ask(self, ask: Ask, hear: Hear) -> Reply:
        answer = self._answer(ask.prompt, ask.folder)
        (text,) = await asyncio.gather(answer, return_exceptions=True)
        if isinstance(text, BaseException):
            failed = f"{type(text).__name__}: {text}"
            return Reply(agent=self.name, failed=failed, trouble=AgentTrouble.CRASHED)
        hear(text)
        return Reply(agent=self.name, text=text)
