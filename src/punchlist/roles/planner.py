"""The planner: says of each item how it shall be fixed, and what must come first."""

from functools import partial
from typing import Any

from punchlist.ports.roles import Plans, RoleTask
from punchlist.ports.tree import Tree
from punchlist.roles.answers import schemas
from punchlist.roles.answers.ask import ItemsRole, ParsedAnswer
from punchlist.roles.answers.plan_answer import PlanAnswer, parse_plan


class AgentPlanner(ItemsRole):
    schema = schemas.TODOS

    async def plan(self, task: RoleTask, tree: Tree) -> Plans:
        def build(answer: ParsedAnswer[PlanAnswer], common: dict[str, Any]) -> Plans:
            said = answer.reading or PlanAnswer()
            return Plans(**common, todos=said.todos, after=said.after)

        return await self._ask(task, tree, partial(parse_plan, root=str(tree.root)), build)
