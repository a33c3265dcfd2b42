"""A surface of punchlist that stays, as a process whose output is read as it comes."""

import os
import queue
import subprocess
import threading
from contextlib import suppress

from beside_commands import end

PATIENCE = 90
"""Seconds that a client waits for what should come."""


class Process:
    """A surface that was started; what it prints is read line by line."""

    def __init__(self, ground, repo, env, words):
        command = ground.command([str(ground.root / "tools/bin/punchlist"), *words])
        self.log = (ground.root / "surface.log").open("wb")
        self.process = subprocess.Popen(
            command,
            cwd=repo,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )
        self.pieces = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with suppress(OSError, ValueError):
            while piece := os.read(self.process.stdout.fileno(), 65536):
                self.pieces.put(piece)
        self.pieces.put(b"")

    def send(self, content):
        with suppress(BrokenPipeError, OSError):
            self.process.stdin.write(content)
            self.process.stdin.flush()

    def close(self):
        with suppress(OSError):
            self.process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        end(self.process)
        self.log.close()
        return self.process.returncode
