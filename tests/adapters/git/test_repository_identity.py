"""All spellings of a remote are one name, two repositories never have the same, and no credential is in it."""

from pathlib import Path

import pytest

from punchlist.adapters.git.identity import choose_name, normalise_remote

HERE = Path("/srv/checkout")


def name(url):
    found = normalise_remote(url, HERE)
    return found and found.name


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/Team/shop",
        "https://example.org/Team/shop.git",
        "https://example.org/Team/shop.git/",
        "https://example.org/Team//shop/",
        "https://example.org:443/Team/shop.git",
        "https://EXAMPLE.Org/Team/shop.git",
        "https://example.org./Team/shop.git",
        "HTTPS://ada:s3cret@example.org/Team/shop.git",
        "https://s3cret@example.org/Team/shop.git?token=s3cret#s3cret",
        "https://example.org/Team/%73hop",
        "http://example.org/Team/shop",
        "http://example.org:80/Team/shop",
        "git://example.org:9418/Team/shop.git",
        "ssh://git@example.org/Team/shop.git",
        "ssh://git@example.org:22/Team/shop.git",
        "ssh://git@example.org:2222/Team/shop.git",
        "ssh://ada:s3cret@Example.ORG/Team/shop",
        "git+ssh://git@example.org/Team/shop.git",
        "git@example.org:Team/shop.git",
        "git@EXAMPLE.org:/Team/shop.git",
        "example.org:Team/shop",
        "ada@example.org:Team/shop",
        "  git@example.org:Team/shop.git\n",
    ],
)
def test_all_spellings_of_a_remote_are_one_name_without_credentials(url):
    found = normalise_remote(url, HERE)
    assert found == ("example.org/Team/shop", False)


def test_other_repositories_have_other_names():
    urls = [
        "https://example.org/team/shop",
        "https://example.org/Team/shop",
        "https://example.org/Team/shop2",
        "https://example.org/Team/shop.git.git",
        "https://example.org/Team",
        "https://example.org/Team/shop/sub",
        "https://example.org:8443/Team/shop",
        "https://example.com/Team/shop",
        "https://mirror.example.org/Team/shop",
        "https://github.com/team/shop",
        "https://github.com/fork/shop",
        "/srv/example.org/Team/shop",
        "file:///srv/Team/shop.git",
    ]
    assert len({name(url) for url in urls}) == len(urls)


def test_hosts_that_do_not_mind_case_and_have_second_names_are_known():
    same = {name(f"{start}Team/Shop.git") for start in ("https://GitHub.com/", "git@github.com:")}
    same |= {name("ssh://git@ssh.github.com:443/team/shop.git"), name("org-1@github.com:team/shop")}
    assert same == {"github.com/team/shop"}
    azure = (
        "git@ssh.dev.azure.com:v3/org/Project/repo",
        "https://ada@dev.azure.com/org/project/_git/repo",
    )
    assert {name(url) for url in azure} == {"dev.azure.com/org/project/_git/repo"}


@pytest.mark.parametrize(
    "url",
    [
        *(
            "work:team/shop",
            "git@work:team/shop",
            "http://localhost:3000/a/b",
            "git://127.0.0.1/a/b",
        ),
        *("ssh://git@[::1]/a/b", "https://forge.local/a/b", "ada@example.org:shop.git"),
        *("ssh://ada@example.org/~/shop", "/srv/shop.git", "../shop", "file:///srv/shop.git"),
    ],
)
def test_what_may_be_another_repository_elsewhere_is_vague(url):
    assert normalise_remote(url, HERE).vague


def test_a_folder_is_one_however_it_is_named(tmp_path):
    (tmp_path / "shop.git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shop.git")
    urls = [
        f"{tmp_path}/shop.git",
        f"file://{tmp_path}/shop.git/",
        "../shop.git",
        f"{tmp_path}/link",
    ]
    found = {normalise_remote(url, tmp_path / "clone").name for url in urls}
    assert found == {f"file://{tmp_path}/shop"}


@pytest.mark.parametrize(
    "url", ["", "https://", "https:///x", "https://example.org", "https://h:x/a", "ssh://h/../x"]
)
def test_what_names_no_repository_is_none(url):
    assert normalise_remote(url, HERE) is None


def test_the_registered_name_counts_then_origin_then_the_only_remote():
    fork = ("remote.fork.url", "git@example.org:ada/shop.git")
    team = ("remote.team.url", "https://example.org/Team/shop")
    origin = ("remote.origin.url", "short:Team/shop")
    instead = [
        ("url.https://example.org/.insteadof", "short:"),
        ("url.https://wrong.org/.insteadof", "sho"),
    ]
    assert choose_name([], HERE) is None
    assert choose_name([fork], HERE).name == "example.org/ada/shop"
    assert choose_name([fork, team], HERE) is None, "none of two is the one"
    assert choose_name([fork, *instead, origin], HERE).name == "example.org/Team/shop"
    named = choose_name([fork, origin, ("punchlist.repository", " payments ")], HERE)
    assert named == ("name:payments", True)
