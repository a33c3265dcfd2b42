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
from punchlist.adapters.agents.cli_agent import (
    AgentCall,
    AgentSetup,
    CallContext,
    CliAgent,
    ParsedReply,
    make_filename,
)
from punchlist.adapters.agents.json_lines import JsonEvent
from punchlist.adapters.process.run import ProcessResult
from punchlist.errors import SettingsError
from punchlist.ports.agent import AgentTrouble, Ask

STDOUT = "stdout"
_ANSWER = "{answer}"
_LAST_WORDS = 2000
_LONGEST_ANSWER = 16 << 20


class CommandDialect:
    program = ""
    keys: tuple[str, ...] = ()
    cumulative: tuple[str, ...] = ()

    def __init__(self, seat: AgentSetup, arguments: tuple[str, ...]) -> None:
        self._arguments = arguments
        self._settings = seat.settings
        self._tmp = seat.place.make_tmp(seat.name)

    def build_call(self, ask: Ask, desk: CallContext) -> AgentCall:  # the shape of a dialect
        env = {
            "PUNCHLIST_ROLE": ask.role,
            "PUNCHLIST_WRITES": "1" if ask.writes else "0",
            "PUNCHLIST_SESSION": ask.session,
        }
        if ask.schema is not None:
            env["PUNCHLIST_SCHEMA"] = json.dumps(ask.schema)
        if self._settings.answer != STDOUT:
            file = self._answer_path(ask)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)  # what an earlier try left is no answer to this one
            env["PUNCHLIST_ANSWER"] = str(file)
        arguments = (
            argument.replace(_ANSWER, env.get("PUNCHLIST_ANSWER", _ANSWER))
            for argument in self._arguments
        )
        return AgentCall(arguments=tuple(arguments), stdin=ask.prompt, env=env)

    def describe_event(self, event: JsonEvent) -> str:
        return event.text("text") or event.text("message") or event.noise

    def parse_output(self, ran: ProcessResult, ask: Ask) -> ParsedReply:
        if ran.trouble:
            return ParsedReply()  # what became of it says more than what it said
        if ran.exit_code:
            said = (ran.stderr.strip() or ran.stdout.strip()).decode(errors="replace")[
                -_LAST_WORDS:
            ]
            # What it printed as an answer is not its error channel, so only the other one tells the
            # kind of trouble.
            told = ran.stderr.decode(errors="replace")[-_LAST_WORDS:]
            return ParsedReply(
                failed=f"ended with exit code {ran.exit_code}: {said or 'it said nothing'}",
                trouble=troubles.classify_error(told),
                retry_after=troubles.parse_retry_delay(told),
            )
        return (
            ParsedReply(text=ran.stdout.decode(errors="replace"))
            if self._settings.answer == STDOUT
            else self._read_answer(ask)
        )

    def _answer_path(self, ask: Ask) -> Path:
        return (
            self._tmp
            / "answers"
            / make_filename(ask.label)
            / PurePosixPath(self._settings.answer).name
        )

    def _read_answer(self, ask: Ask) -> ParsedReply:
        path = self._answer_path(ask)
        try:
            # A link would let it show us any file that we can read and it cannot.
            if path.is_symlink() or not path.is_file():
                return ParsedReply(failed=f"it wrote no answer to {path}", trouble=AgentTrouble.CUT)
            with path.open("rb") as file:
                return ParsedReply(text=file.read(_LONGEST_ANSWER).decode(errors="replace"))
        except OSError as error:
            return ParsedReply(
                failed=f"its answer cannot be read: {error}", trouble=AgentTrouble.OTHER
            )


class CommandAgent(CliAgent):
    def __init__(self, seat: AgentSetup) -> None:
        command = seat.settings.command
        if not command:
            hint = f'[agent.{seat.name}] command = ["PROGRAM", "ARGUMENT"]'
            raise SettingsError(f"agent.{seat.name}.command: there is no program to ask", hint=hint)
        first = next(
            (place for place, part in enumerate(command) if place and _ANSWER in part), len(command)
        )
        program = CommandDialect(seat, command[first:])
        super().__init__(
            program, replace(seat, settings=with_(seat.settings, command=command[:first]))
        )
