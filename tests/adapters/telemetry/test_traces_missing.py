"""A collector that is named where nothing can send traces to it."""

import json
import os
import subprocess
import sys

from punchlist.installed import extra_hint


def test_without_the_extra_nothing_begins_and_the_command_that_installs_it_is_told(repo, tmp_path):
    repo.commit({"a.py": "import os\n"})
    hidden = tmp_path / "hidden" / "opentelemetry"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError('no opentelemetry here')\n")
    env = {
        **os.environ,
        "PUNCHLIST_HOME": str(tmp_path / "home"),
        "PYTHONPATH": os.pathsep.join([str(hidden.parent), os.environ.get("PYTHONPATH", "")]),
    }

    def call(*words, **more):
        command = [sys.executable, "-m", "punchlist", *words]
        return subprocess.run(
            command, cwd=repo.root, env={**env, **more}, capture_output=True, text=True, check=False
        )

    traces = {"PUNCHLIST_TRACES": "http://127.0.0.1:9"}
    ran = call("run", "--all", "--no-checks", **traces)
    assert ran.returncode == 6, ran.stdout + ran.stderr
    assert extra_hint("telemetry") in ran.stderr
    assert json.loads(call("list", "--json").stdout) == []
    worker = call("worker", **traces, PUNCHLIST_STORE="postgresql://127.0.0.1:9/none")
    assert (worker.returncode, "[telemetry]" in worker.stderr) == (6, True)
