"""Any program of the user's as an agent: asked on its standard input, answering on its output or in
a file.

It has a home and a folder for temporary files of its own, and finds in its environment
PUNCHLIST_ROLE, PUNCHLIST_WRITES (1 where it may change files), PUNCHLIST_SESSION, PUNCHLIST_SCHEMA
(JSON Schema of the answer) and, where the answer is to be in a file, PUNCHLIST_ANSWER, its full
name; `{answer}` on the command line is the same.
"""

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath

from msgspec.structs import replace as with_

from punchlist.adapters.agents import trouble as troubles
from punchlist.adapters.agents.cli_agent import Call, CliAgent, Desk, Seat, Told, plain
from punchlist.adapters.agents.json_lines import Event
from punchlist.adapters.process.run import Ran
from punchlist.errors import SettingsError
from punchlist.ports.agent import Ask, Trouble

STDOUT = "stdout"
_ANSWER = "{answer}"
_LAST_WORDS = 2000
_LONGEST_ANSWER = 16 << 20


class Program:
    program = ""
    keys: tuple[str, ...] = ()
    cumulative: tuple[str, ...] = ()

    def __init__(self, seat: Seat, arguments: tuple[str, ...]) -> None:
        self._arguments = arguments
        self._settings = seat.settings
        self._tmp = seat.place.tmp(seat.name)

    def call(self, ask: Ask, desk: Desk) -> Call:  # the shape of a dialect
        env = {
            "PUNCHLIST_ROLE": ask.role,
            "PUNCHLIST_WRITES": "1" if ask.writes else "0",
            "PUNCHLIST_SESSION": ask.session,
        }
        if ask.schema is not None:
            env["PUNCHLIST_SCHEMA"] = json.dumps(ask.schema)
        if self._settings.answer != STDOUT:
            file = self._file(ask)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)  # what an earlier try left is no answer to this one
            env["PUNCHLIST_ANSWER"] = str(file)
        arguments = (
            argument.replace(_ANSWER, env.get("PUNCHLIST_ANSWER", _ANSWER))
            for argument in self._arguments
        )
        return Call(arguments=tuple(arguments), stdin=ask.prompt, env=env)

    def piece(self, event: Event) -> str:
        return event.text("text") or event.text("message") or event.noise

    def told(self, ran: Ran, ask: Ask) -> Told:
        if ran.trouble:
            return Told()  # what became of it says more than what it said
        if ran.exit_code:
            said = (ran.stderr.strip() or ran.stdout.strip()).decode(errors="replace")[
                -_LAST_WORDS:
            ]
            # What it printed as an answer is not its error channel, so only the other one tells the
            # kind of trouble.
            told = ran.stderr.decode(errors="replace")[-_LAST_WORDS:]
            return Told(
                failed=f"ended with exit code {ran.exit_code}: {said or 'it said nothing'}",
                trouble=troubles.of_error(told),
                retry_after=troubles.wait_told(told),
            )
        return (
            Told(text=ran.stdout.decode(errors="replace"))
            if self._settings.answer == STDOUT
            else self._from_file(ask)
        )

    def _file(self, ask: Ask) -> Path:
        return self._tmp / "answers" / plain(ask.label) / PurePosixPath(self._settings.answer).name

    def _from_file(self, ask: Ask) -> Told:
        path = self._file(ask)
        try:
            # A link would let it show us any file that we can read and it cannot.
            if path.is_symlink() or not path.is_file():
                return Told(failed=f"it wrote no answer to {path}", trouble=Trouble.CUT)
            with path.open("rb") as file:
                return Told(text=file.read(_LONGEST_ANSWER).decode(errors="replace"))
        except OSError as error:
            return Told(failed=f"its answer cannot be read: {error}", trouble=Trouble.OTHER)


class Command(CliAgent):
    def __init__(self, seat: Seat) -> None:
        command = seat.settings.command
        if not command:
            hint = f'[agent.{seat.name}] command = ["PROGRAM", "ARGUMENT"]'
            raise SettingsError(f"agent.{seat.name}.command: there is no program to ask", hint=hint)
        first = next(
            (place for place, part in enumerate(command) if place and _ANSWER in part), len(command)
        )
        program = Program(seat, command[first:])
        super().__init__(
            program, replace(seat, settings=with_(seat.settings, command=command[:first]))
        )
