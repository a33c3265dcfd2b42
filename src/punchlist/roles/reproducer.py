"""The reproducer: writes a private test that shows the fault of an item."""

from functools import partial
from typing import Any

from punchlist.ports.roles import Reproduction, Reproductions, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import ItemsRole, ParsedAnswer
from punchlist.roles.answers.plan_answer import ReproduceAnswer, parse_tests


class AgentReproducer(ItemsRole):
    """Never sees a fix or an earlier attempt, only the finding."""

    schema = schemas.TESTS
    history = False

    async def reproduce(self, task: RoleTask, tree: Tree) -> Reproductions:
        def build(answer: ParsedAnswer[ReproduceAnswer], common: dict[str, Any]) -> Reproductions:
            said = answer.reading or ReproduceAnswer()
            return Reproductions(**common, tests=tuple(Reproduction(*test) for test in said.tests))

        return await self._ask(task, tree, partial(parse_tests, root=str(tree.root)), build)
