"""A run as a person starts it, on the shop, in this process."""

import asyncio
import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import shop

from punchlist.app import App, Request
from punchlist.model.change import ScopeKind
from punchlist.model.run import Run


class Shop:
    """The repository, and the things one does with it."""

    def __init__(self, repo) -> None:
        self.repo = repo

    def do(self, work, flags=None):
        async def main():
            app = await App.open(self.repo.root, {**shop.FLAGS, **(flags or {})})
            with contextlib.closing(app):
                return await work(app)

        return asyncio.run(main())

    def run(self, watch=None, flags=None, **request) -> Run:
        asked = Request(**{"kind": ScopeKind.ALL, "allow_checks": True, **request})

        async def work(app):
            return await app.run(await app.prepare(asked), watch or shop.Watch())

        return self.do(work, flags)

    def resume(self, watch=None) -> Run:
        return self.do(lambda app: app.resume("last", watch or shop.Watch()))

    def audit(self):
        async def work(app):
            return app.audit("last")

        return self.do(work)


@pytest.fixture
def place(repo, tmp_path, monkeypatch) -> Shop:
    shop.written(repo.root)
    repo.commit(message="the shop")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(shop.settings(tmp_path / "settings.toml")))
    return Shop(repo)
