"""`punchlist pr --push` over HTTP, to a real git server."""

import json

from forge_kinds import KINDS
from forge_standin import TOKEN
from git_http import serve_git
from test_cli_pr import Shop


def test_fixes_are_fetched_and_pushed_over_http(repo, tmp_path, make_punchlist):
    punchlist = make_punchlist(repo.root)
    with KINDS["github"].server() as standin, serve_git(tmp_path) as (address, seen):
        shop = Shop(repo, tmp_path, KINDS["github"], standin)
        shop.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
        path = f"/{shop.remote.relative_to(tmp_path)}"
        repo.git("remote", "set-url", "origin", f"{address}{path}")
        repo.git("branch", "--quiet", "--delete", "--force", "topic")
        repo.git("update-ref", "-d", "refs/remotes/origin/topic")
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "--prune=now", "--quiet")
        given = {
            "analyzers.enabled": "ruff", "analyzers.select": "F", "track.api": standin.api, "track.repository": "acme/shop",
            "track.token": "OUR_TOKEN", "pr.pause": "0",
        }  # fmt: skip
        words = [f"--set={name}={value}" for name, value in given.items()]
        said = punchlist("pr", "7", "--no-checks", "--push", "--json", *words, OUR_TOKEN=TOKEN)
        shop.follow()
    assert json.loads(said.stdout)["pushed"] == shop.state.head, said.stderr
    assert f"POST {path}/git-upload-pack" in seen, "the pull request was fetched"
    assert f"POST {path}/git-receive-pack" in seen
    assert repo.git("--git-dir", str(shop.remote), "show", "topic:a.py").strip() == "X = 1"
    assert standin.state.problems == []
