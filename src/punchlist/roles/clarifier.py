"""The clarifier: asks what must be known before anything is planned."""

from functools import partial
from typing import Any

from punchlist.ports.roles import Doubts, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import ItemsRole, ParsedAnswer
from punchlist.roles.answers.plan_answer import ClarifyAnswer, parse_questions


class AgentClarifier(ItemsRole):
    schema = schemas.QUESTIONS

    async def clarify(self, task: RoleTask, tree: Tree) -> Doubts:
        def build(answer: ParsedAnswer[ClarifyAnswer], common: dict[str, Any]) -> Doubts:
            said = answer.reading or ClarifyAnswer()
            return Doubts(**common, doubts=said.doubts, ready=said.ready and not answer.failed)

        return await self._ask(task, tree, partial(parse_questions, earlier=task.doubts), build)
