"""The problem matcher of the guide reads what the command of its task prints."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import punchlist

ROOT = Path(__file__).parents[2]
CART = 'import os\n\n\ndef f(x):\n    y = "😀"; return x == None or y\n'


def test_each_problem_of_a_review_is_matched_and_nothing_else(repo, tmp_path):
    guide = (ROOT / "docs" / "guides" / "editors.md").read_text("utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)
    (task,) = json.loads(block)["tasks"]
    repo.commit({"shop/cart.py": CART, "a: 1:2: b.py": "import sys\n", "app.js": "let x\n"})
    source = str(Path(punchlist.__file__).parents[1])
    env = {**os.environ, "PUNCHLIST_HOME": str(tmp_path / "state"), "PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-m", task["command"], *task["args"]],
        cwd=repo.root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    pattern = task["problemMatcher"]["pattern"]
    found = [
        [match[pattern[part]] for part in ("file", "line", "column", "code")]
        for line in done.stdout.splitlines()
        if (match := re.search(pattern["regexp"], line))
    ]
    assert found == [
        ["a: 1:2: b.py", "1", "8", "F401"],
        ["shop/cart.py", "1", "8", "F401"],
        ["shop/cart.py", "5", "26", "E711"],
    ], done.stdout
    messages = [re.search(pattern["regexp"], line) for line in done.stdout.splitlines()]
    assert any(each and "imported but unused" in each[pattern["message"]] for each in messages)
