"""A program of the user's as an agent: prompt on stdin, answer on stdout or in a file.

It has its own home and temporary folder. Its environment has PUNCHLIST_ROLE,
PUNCHLIST_WRITES (1 if it may change files), PUNCHLIST_SESSION, PUNCHLIST_SCHEMA (JSON
Schema of the answer) and, for an answer in a file, PUNCHLIST_ANSWER, its absolute path;
`{answer}` on the command line is the same.
"""

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath

from msgspec.structs import replace as with_

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import AgentSetup, CliAgent, make_filename
from punchlist.adapters.agents.dialect import AgentCall, CallContext, ParsedReply, Unmetered
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.agents.model_access import ModelAccess
from punchlist.adapters.folders.look import is_file, is_link
from punchlist.adapters.process.run import ProcessResult
from punchlist.errors import SettingsError
from punchlist.ports.agent import AgentTrouble, Ask

STDOUT = "stdout"
_ANSWER = "{answer}"
_LAST_WORDS = 2000
_LONGEST_ANSWER = 16 << 20


class CommandDialect(Unmetered):
    program = ""
    keys = ()
    access = ModelAccess()
    cumulative = ()

    def __init__(self, setup: AgentSetup, arguments: tuple[str, ...]) -> None:
        self._arguments = arguments
        self._answer = setup.settings.answer
        self._tmp = setup.place.make_tmp(setup.name)

    def build_call(self, ask: Ask, context: CallContext) -> AgentCall:
        env = {
            "PUNCHLIST_ROLE": ask.role,
            "PUNCHLIST_WRITES": "1" if ask.writes else "0",
            "PUNCHLIST_SESSION": ask.session,
        }
        if ask.schema is not None:
            env["PUNCHLIST_SCHEMA"] = json.dumps(ask.schema)
        if self._answer != STDOUT:
            file = self._answer_path(ask)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)  # an earlier try may have left one
            env["PUNCHLIST_ANSWER"] = str(file)
        answer = env.get("PUNCHLIST_ANSWER", _ANSWER)
        arguments = tuple(argument.replace(_ANSWER, answer) for argument in self._arguments)
        return AgentCall(arguments=arguments, stdin=ask.prompt, env=env)

    def describe_event(self, event: JsonEvent) -> str:
        return event.text("text") or event.text("message") or event.noise

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        if ran.trouble:
            return ParsedReply()  # CliAgent reports the trouble
        if ran.exit_code:
            output = (ran.stderr.strip() or ran.stdout.strip()).decode(errors="replace")
            # Only stderr is classified: stdout is its answer.
            errors = ran.stderr.decode(errors="replace")[-_LAST_WORDS:]
            text = output[-_LAST_WORDS:] or "it said nothing"
            return ParsedReply(
                failed=f"ended with exit code {ran.exit_code}: {text}",
                trouble=troubles.classify_error(errors),
                retry_after=troubles.parse_retry_delay(errors),
            )
        if self._answer == STDOUT:
            return ParsedReply(text=ran.stdout.decode(errors="replace"))
        return self._read_answer(ask)

    def _answer_path(self, ask: Ask) -> Path:
        return self._tmp / "answers" / make_filename(ask.label) / PurePosixPath(self._answer).name

    def _read_answer(self, ask: Ask) -> ParsedReply:
        path = self._answer_path(ask)
        try:
            # A link would let it show us any file that we can read and it cannot.
            if is_link(path) or not is_file(path):
                return ParsedReply(failed=f"it wrote no answer to {path}", trouble=AgentTrouble.CUT)
            with path.open("rb") as file:
                return ParsedReply(text=file.read(_LONGEST_ANSWER).decode(errors="replace"))
        except OSError as error:
            failed = f"its answer cannot be read: {error}"
            return ParsedReply(failed=failed, trouble=AgentTrouble.OTHER)


class CommandAgent(CliAgent):
    def __init__(self, setup: AgentSetup) -> None:
        command = setup.settings.command
        if not command:
            where = f"agent.{setup.name}"
            hint = f'[{where}] command = ["PROGRAM", "ARGUMENT"]'
            raise SettingsError(f"{where}.command: there is no program to ask", hint=hint)
        named = (place for place, part in enumerate(command) if place and _ANSWER in part)
        first = next(named, len(command))
        dialect = CommandDialect(setup, command[first:])
        settings = with_(setup.settings, command=command[:first])
        super().__init__(dialect, replace(setup, settings=settings))
