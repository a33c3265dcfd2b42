"""Runs the spy as a child of one kind, through the door that punchlist itself uses, and prints what it told: KIND WORLD LEVEL."""

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path

from refused import refuse_namespaces

from punchlist.adapters.agents.cli_agent import AgentSetup
from punchlist.adapters.agents.home import AgentPlace
from punchlist.adapters.agents.registry import build_agent
from punchlist.adapters.agents.settings import AgentSettings
from punchlist.adapters.analyzers.tool import CommandAnalyzer, Kit
from punchlist.adapters.analyzers.tools.custom import Custom, CustomTool
from punchlist.adapters.checks.runner import LocalCheckRunner
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.hooks import Hooks
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.sandbox import support
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.model.checks.check import Check, CheckKind
from punchlist.ports.agent import Ask
from punchlist.ports.tree import Pristine


async def spy(kind, world):
    state, home = world / "home/.local/state/punchlist", world / "home"
    checkout = await Checkout.find(home / "project")
    workshop = await Workshop.open(checkout, state)
    trees, program = WorkTrees(workshop), str(world / "tools/spy")
    if kind == "hook":
        heard = await Hooks(workshop, trees).run_hook(
            "pre-commit", checkout.head, (), Pristine(origin=checkout.head)
        )
        return heard.refused
    async with trees.open_tree(checkout.head) as tree:
        if kind == "analyzer":
            tool = CustomTool(name="spy", command=(program,), format="lines", files=("*.py",))
            analysis = await CommandAnalyzer(Custom(tool), Kit(checkout=checkout.root)).analyze(
                tree, None
            )
            return analysis.failed + " ".join(str(finding) for finding in analysis.findings)
        if kind == "check":
            check = Check(
                name="spy", command=(program,), kind=CheckKind.PLAIN, origin="test", timeout=60
            )
            result = await LocalCheckRunner(checkout.root, hidden=(state,)).run(check, tree)
            return result.output + result.trouble
        if kind == "agent in state":
            program = shutil.copytree(world / "tools", state / "bin", dirs_exist_ok=True) / "spy"
        place = AgentPlace(folder=state / "runs/one/agents", state=state, user=home)
        settings = AgentSettings(kind="command", command=(str(program),), timeout=60, silence=60)
        agent = build_agent(AgentSetup("spy", settings, place, FolderArtifacts(state / "runs/one")))
        reply = await agent.ask(
            Ask(role="fixer", label="x", prompt="go", folder=tree.root, writes=True), lambda _: None
        )
        return f"{reply.failed} {(state / 'runs/one' / reply.transcript).read_text()}"


if sys.argv[3] != "bubblewrap":
    support.find_bubblewrap = str
if sys.argv[3] == "landlock alone":
    refuse_namespaces()
told = asyncio.run(spy(sys.argv[1], Path(sys.argv[2])))
found = max(re.findall("SPIED ([0-9a-f]+)", told), key=len, default="")
print(bytes.fromhex(found).decode() if found else json.dumps({"failed": told[-3000:]}))
