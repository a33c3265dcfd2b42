"""Serve the Model Context Protocol over standard input and output."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from punchlist._version import __version__
from punchlist.app.repositories import RepositoryEntry
from punchlist.errors import AlreadyRunning, PunchlistError
from punchlist.mcp import prompts, resources, schemas
from punchlist.mcp.session import Caller, McpSession, Options
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools import TOOLS
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run

_BY_NAME = {tool.name: tool for tool in TOOLS}
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LONGEST_NAME = 60

Context = ServerRequestContext[Any, Any]
Paging = types.PaginatedRequestParams | None


class McpMethods:
    """The protocol's methods, answered from one session."""

    def __init__(self, app: McpSession) -> None:
        self._app = app

    async def list_tools(self, _: Context, __: Paging) -> types.ListToolsResult:
        role = self._app.options.role
        tools = [_describe_tool(tool) for tool in TOOLS if role.includes(tool.role)]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        caller = identify_caller(context)
        return await run_tool(self._app, params.name, params.arguments or {}, caller)

    async def list_resources(self, _: Context, __: Paging) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.list_resources(self._app))

    async def list_templates(self, _: Context, __: Paging) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.list_templates())

    async def read_resource(
        self, _: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        with _convert_errors():
            text, kind = resources.read_resource(self._app, str(params.uri))
        content = types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, _: Context, __: Paging) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=list(map(_describe_prompt, prompts.PROMPTS)))

    async def get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        with _convert_errors():
            text = prompts.render_prompt(params.name, params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(messages=[message])


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Turn a PunchlistError into an MCP error "invalid params"."""
    try:
        yield
    except PunchlistError as error:
        raise MCPError(types.INVALID_PARAMS, _format_error(error)) from error


def build_server(app: McpSession) -> Server[Any]:
    methods = McpMethods(app)
    return Server(
        "punchlist",
        version=__version__,
        title="Punchlist",
        instructions=(files(__package__) / "instructions.md").read_text("utf-8").rstrip(),
        on_list_tools=methods.list_tools,
        on_call_tool=methods.call_tool,
        on_list_resources=methods.list_resources,
        on_list_resource_templates=methods.list_templates,
        on_read_resource=methods.read_resource,
        on_list_prompts=methods.list_prompts,
        on_get_prompt=methods.get_prompt,
    )


async def run_tool(
    app: McpSession, name: str, arguments: dict[str, Any], caller: Caller
) -> types.CallToolResult:
    """Call a tool. Errors are returned as results, so that the agent can read them."""
    tool = _BY_NAME.get(name)
    if tool is None:
        return _error_result(f'no tool is called "{name[:80]}"', "tools/list has them")
    if not app.options.role.includes(tool.role):
        return _error_result(
            f"{name} takes the role {tool.role}",
            f"a person starts the server with --role {tool.role}, if they want",
        )
    try:
        args = msgspec.convert(arguments, type=tool.takes)
        answer = await tool.do(app, args, caller)
    except msgspec.ValidationError as error:
        return _error_result(f"{name}: {error}", "the tool's input schema says what it takes")
    except PunchlistError as error:
        return _text_result(_format_error(error), is_error=True)
    raw = wire.encode(answer)
    return _text_result(raw.decode(), structured_content=msgspec.json.decode(raw))


def identify_caller(context: Context) -> Caller:
    client = context.session.client_params
    given = client.client_info.name if client else ""
    name = "".join(filter(str.isprintable, given))[:_LONGEST_NAME].strip() or "a client"

    async def tell(run: Run) -> None:
        last = run.timeline[-1].said if run.timeline else ""
        await context.session.report_progress(run.seq, None, f"run {run.id}: {last}")

    return Caller(name, tell)


def _describe_tool(tool: McpTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=schemas.input_schema(tool.takes),
        output_schema=schemas.output_schema(tool.gives),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.reads or tool.idempotent,
            open_world_hint=False,
        ),
    )


def _describe_prompt(prompt: prompts.PromptOffer) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=name, description=about, required=False)
        for name, about in prompt.takes.items()
    ]
    return types.Prompt(name=prompt.name, description=prompt.about, arguments=arguments)


def _format_error(error: PunchlistError) -> str:
    run = f"\nrun: {error.run}" if isinstance(error, AlreadyRunning) and error.run else ""
    return f"{error}{run}\nnext: {error.hint}" if error.hint else f"{error}{run}"


def _error_result(what: str, hint: str) -> types.CallToolResult:
    return _text_result(f"{what}\nnext: {hint}", is_error=True)


def _text_result(text: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], **more)


async def serve(home: Path, repositories: tuple[RepositoryEntry, ...], options: Options) -> None:
    """Serve until the client closes its end; then stop driven runs between two events."""
    app = McpSession(home, repositories, options)
    ending: list[asyncio.Task[None]] = []

    async def shut_down(number: int) -> None:
        # Standard input is read in a thread that cannot be woken: end the process here.
        await app.close()
        os._exit(128 + number)

    def handle_signal(number: int) -> None:
        if not ending:
            ending.append(asyncio.ensure_future(shut_down(number)))

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, handle_signal, number)
    server = build_server(app)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except* BrokenPipeError:
        # The client was killed. What is still to be written goes nowhere, not into another error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    finally:
        await app.close()
