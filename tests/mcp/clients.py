"""Real MCP clients over real pipes: the protocol's own client against the `punchlist mcp` command in a repository."""

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import warm

if TYPE_CHECKING:
    from mcp import Client

SOURCE = str(Path(__file__).parents[2] / "src")
QUICK = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=E,F,B,UP")
LONG = 120


PLAIN_GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "ada@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


class Repo:
    """As the fixture of that name, for a whole module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True
        ).stdout.strip()

    def commit(self, files: dict[str, str], message: str) -> None:
        for path, content in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)


class Wrong(Exception):
    """A tool refused."""


class Agent:
    """Another agent, as far as punchlist sees it: it calls tools."""

    def __init__(self, client: "Client") -> None:
        self.client = client
        self.progress: list[str] = []

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        answer = await self.client.call_tool(
            tool, arguments, read_timeout_seconds=LONG, progress_callback=told
        )
        text = "".join(part.text for part in answer.content)
        if answer.is_error:
            raise Wrong(text)
        assert isinstance(answer.structured_content, dict), text
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        try:
            told = await self.call(tool, **arguments)
        except Wrong as error:
            return str(error)
        raise AssertionError(f"{tool} was not refused: {told}")

    async def task(self, run: str, **more: Any) -> dict[str, Any]:
        """The next task; there must be one."""
        async with asyncio.timeout(LONG):
            while (told := await self.call("next_task", run=run, wait_seconds=30, **more))[
                "task"
            ] is None:
                assert told["state"] == "under way", told
        return told["task"]

    async def ended(self, run: str) -> dict[str, Any]:
        return await self.until(run, "ended")

    async def until(self, run: str, *states: str) -> dict[str, Any]:
        seq = 1
        async with asyncio.timeout(LONG):
            while True:
                told = await self.call("run_status", run=run, after=seq, wait_seconds=30)
                if told["state"] in states:
                    return told
                seq = told["seq"]


Story = Callable[[Agent], Coroutine[Any, Any, Any]]


class Place:
    """Where clients start their servers: a repository, a state folder and settings of their own."""

    def __init__(self, repo: Any, folder: Path) -> None:
        self.repo = repo
        self.folder = folder
        self.home = folder / "state"
        self.kept: Kept | None = None
        self.settings("")

    def settings(self, text: str, *, checks: bool = True) -> None:
        """With the project's tests as a check of the user's own, which may run."""
        check = f'[[checks]]\nname = "tests"\ncommand = ["{sys.executable}", "-m", "unittest"]\nkind = "unittest"\n'
        (self.folder / "settings.toml").write_text(f"{text}\n{check if checks else ''}")

    @property
    def env(self) -> dict[str, str]:
        own = {
            "PUNCHLIST_HOME": str(self.home),
            "PUNCHLIST_CONFIG": str(self.folder / "settings.toml"),
            "HOME": str(self.folder),
        }
        return {**os.environ, **own, "PYTHONPATH": f"{SOURCE}:{os.environ.get('PYTHONPATH', '')}"}

    def command(self, *arguments: str, repositories: tuple[Path, ...] = ()) -> list[str]:
        named = [part for path in repositories for part in ("--repository", str(path))]
        return [sys.executable, "-m", "punchlist", "mcp", *QUICK, *named, *arguments]

    def warm_command(self, *arguments: str, **more: Any) -> list[str]:
        """The same without the time that the start takes."""
        return warm.command(*self.command(*arguments, **more)[3:])

    @contextlib.asynccontextmanager
    async def agent(
        self, *arguments: str, name: str = "tester", mode: str = "legacy", **more: Any
    ) -> AsyncIterator[Agent]:
        # Imported by those tests alone that need it: it takes long.
        from mcp.client.stdio import stdio_client
        from mcp_types import Implementation

        from mcp import Client, StdioServerParameters

        program, *rest = self.warm_command(*arguments, **more)
        server = StdioServerParameters(command=program, args=rest, env=self.env, cwd=self.repo.root)
        with (self.folder / "mcp.log").open("a") as log:
            transport = stdio_client(server, errlog=log)
            async with Client(
                transport, client_info=Implementation(name=name, version="1"), mode=mode
            ) as client:
                yield Agent(client)

    def do(self, story: Story, *arguments: str, **more: Any) -> Any:
        """What came of a story; what went wrong in it is raised bare, not in the groups of the client's tasks."""
        if self.kept is not None and not arguments and not more:
            return self.kept.do(story)

        async def told() -> tuple[Any, Exception | None]:
            async with self.agent(*arguments, **more) as agent:
                try:
                    return await _in_time(story(agent)), None
                except Exception as error:  # noqa: BLE001 - it is raised below
                    return None, error

        result, error = asyncio.run(told())
        if error is not None:
            raise error
        return result


class Kept:
    """An agent for many stories: its server is started once, in a thread of its own."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._loop = asyncio.new_event_loop()
        self._agent: Future[Agent] = Future()
        self._over = asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._served(),)
        )

    async def _served(self) -> None:
        async with self._place.agent() as agent:
            self._agent.set_result(agent)
            await self._over.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        self._agent.result(LONG)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(LONG)
        self._loop.close()

    def do(self, story: Story) -> Any:
        return asyncio.run_coroutine_threadsafe(
            _in_time(story(self._agent.result())), self._loop
        ).result()


async def _in_time(story: Coroutine[Any, Any, Any]) -> Any:
    async with asyncio.timeout(LONG):
        return await story


def edit(folder: str, path: str, old: str, new: str) -> None:
    """What an agent does with its own tools."""
    file = Path(folder) / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def write(folder: str, path: str, text: str) -> None:
    (Path(folder) / path).write_text(text)
