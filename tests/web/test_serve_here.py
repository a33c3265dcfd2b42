"""The repository that a server is started in is there from the beginning, unless its owner wants otherwise."""

import pytest

pytest.importorskip("litestar")
from sites import QUICK, Site


def shown(site: Site, *more: str) -> list[str]:
    site.start(*QUICK, *more)
    with site.client() as client:
        return [each["root"] for each in client.get("/api/repositories").json()]


@pytest.fixture
def started_in(repo, tmp_path):
    """A server whose folder is a repository."""
    repo.commit({"app.py": "x = 1\n"})
    site = Site(repo.root)
    yield site
    site.end()


def test_the_repository_around_the_server_is_registered_and_said_to_be(started_in):
    assert shown(started_in) == [str(started_in.folder)]
    assert f"with {started_in.folder.name}, where it was started" in started_in.log.read_text()


def test_its_owner_may_keep_it_out(started_in):
    assert shown(started_in, "--not-here") == []


def test_without_a_repository_there_is_none_and_nothing_is_said(site):
    assert shown(site) == []
    assert "where it was started" not in site.log.read_text()
