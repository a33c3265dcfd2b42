"""The files in deploy/ start what this version has: each command line, setting, variable, path and time in them is held to the code."""

import asyncio
import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import httpx
import pytest
import yaml

from machine import find_program
from punchlist._version import __version__
from punchlist.app.fleet.health import LIVE, READY, HealthServer, WorkerHealth
from punchlist.cli.root import root
from punchlist.errors import UsageError
from punchlist.settings import load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
PODS = [each for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()) if each]
IMAGE = f"punchlist:{__version__}"
OTHERS = {"PGPASSWORD", "PGPASSFILE"}
"""Variables that libpq reads; those of object stores are in the guide's table."""


def parse_command(words):
    """Let the product parse a command line; return the options by name. Raise click.UsageError."""
    context = root.make_context("punchlist", list(words))
    command, rest = root, [*context._protected_args, *context.args]
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
        rest = [*context._protected_args, *context.args]
    return {"": name, **context.params}


def read_units():
    for file in UNITS:
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read_string(file.read_text())
        yield file.name, unit


def read_environment(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def list_containers():
    """Yield the kind and the pod of each object of Kubernetes that has one, with its container."""
    for each in PODS:
        if template := each["spec"].get("template") if "spec" in each else None:
            for container in template["spec"]["containers"]:
                yield each, template["spec"], container


def list_commands():
    for name, service in SERVICES.items():
        if service["image"] == IMAGE:
            yield f"compose {name}", service["command"]
    for name, unit in read_units():
        program, *words = shlex.split(unit["Service"]["ExecStart"])
        assert program == "/opt/punchlist/bin/punchlist"
        yield name, words
    for each, _, container in list_containers():
        yield f"kubernetes {each['metadata']['name']}", container["args"]
    for file in (DEPLOY / "compose.yaml", DEPLOY / "kubernetes.yaml"):
        for words in re.findall(
            r"^#.*?(?:--rm upgrade|-- punchlist) (\w.*?)(?:   .*)?$", file.read_text(), re.MULTILINE
        ):
            yield f"comment of {file.name}", words.split()


def test_each_command_line_is_one_of_this_version():
    commands = dict(list_commands())
    assert {"compose upgrade", "compose serve", "compose worker"} <= commands.keys()
    assert sum(name.startswith(("punchlist-", "kubernetes", "comment")) for name in commands) >= 7
    for name, words in commands.items():
        try:
            parse_command(words)
        except click.UsageError as error:
            pytest.fail(f"{name}: {error.format_message()}")
    with pytest.raises(click.UsageError):
        parse_command(["worker", "--widht", "4"])


def test_each_variable_is_a_setting_or_known_to_a_library():
    guide = (ROOT / "docs/guides/postgresql.md").read_text()
    files = [SERVICES[name]["environment"] for name in SERVICES if SERVICES[name]["image"] == IMAGE]
    files += [each["data"] for each in PODS if each["kind"] == "ConfigMap"]
    files.append(read_environment((DEPLOY / "systemd/punchlist.env.example").read_text()))
    for name, unit in read_units():
        pairs = unit["Service"]["Environment"].split()
        files.append(dict(pair.split("=", 1) for pair in pairs))
        assert unit["Service"]["StateDirectory"] == "punchlist", name
    for values in files:
        assert all(isinstance(value, str) for value in values.values()), values
        load_settings(None, {}, values)
        plain = {name for name in values if not name.startswith("PUNCHLIST_")}
        assert {name for name in plain - OTHERS if f"`{name}`" not in guide} == set()
    secrets = re.findall(r"from-literal=(\w+)", (DEPLOY / "kubernetes.yaml").read_text())
    assert set(secrets) == {*KEYS, "PGPASSWORD", "ANTHROPIC_API_KEY"}
    example = read_environment((DEPLOY / "compose.env.example").read_text())
    assert set(re.findall(r"\$\{(\w+):", (DEPLOY / "compose.yaml").read_text())) == set(example)


KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


def test_a_worker_has_longer_to_stop_than_its_runs_to_end():
    seconds = {"compose": int(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))}
    drains = {"compose": parse_command(SERVICES["worker"]["command"])["drain"]}
    units = dict(read_units())
    unit = units["punchlist-worker@.service"]["Service"]
    seconds["systemd"] = int(unit["TimeoutStopSec"])
    drains["systemd"] = parse_command(shlex.split(unit["ExecStart"])[1:])["drain"]
    for each, pod, container in list_containers():
        if each["metadata"]["name"] == "punchlist-worker":
            seconds["kubernetes"] = pod["terminationGracePeriodSeconds"]
            drains["kubernetes"] = parse_command(container["args"])["drain"]
    assert len(drains) == 3
    for place, drain in drains.items():
        assert drain + 20 <= seconds[place], place
    for name, unit in units.items():
        assert unit["Service"]["KillMode"] == "mixed", f"{name}: agents would get SIGTERM, too"


def test_each_probe_asks_a_path_that_is_there_under_a_name_that_is_allowed():
    document = json.loads((ROOT / "docs/reference/openapi.json").read_text())
    paths = {"serve": {"/api/health"}, "worker": {LIVE, READY}}
    assert document["paths"]["/api/health"]["get"].get("security", []) == []
    probes = []
    for each, _, container in list_containers():
        chosen = parse_command(container["args"])
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", ())}
        for kind in ("readinessProbe", "livenessProbe"):
            if each["kind"] == "Deployment":
                asked = container[kind]["httpGet"]
                assert asked["path"] in paths[chosen[""]]
                port = chosen["port"] if chosen[""] == "serve" else chosen["health_port"]
                assert ports[asked["port"]] == port
                host = chosen["host"] if chosen[""] == "serve" else chosen["health_host"]
                assert host == "0.0.0.0", "probes come from outside of the pod"
                if chosen[""] == "serve":
                    assert asked["httpHeaders"][0]["value"] in chosen["names"]
                probes.append((chosen[""], kind, asked["path"]))
    assert ("worker", "livenessProbe", LIVE) in probes
    assert ("worker", "readinessProbe", READY) in probes
    for name, port in (("serve", "port"), ("worker", "health_port")):
        chosen = parse_command(SERVICES[name]["command"])
        url = re.search(r"http://([^:']+):(\d+)([^']*)", SERVICES[name]["healthcheck"]["test"][-1])
        assert (int(url[2]), url[3] in paths[name]) == (chosen[port], True)
        assert url[1] in chosen.get("names", ("127.0.0.1",))


def test_no_container_has_rights_that_it_does_not_need():
    budgets = {each["metadata"]["name"] for each in PODS if each["kind"] == "PodDisruptionBudget"}
    for each, pod, container in list_containers():
        inside, around = container["securityContext"], pod["securityContext"]
        assert (around["runAsNonRoot"], around["runAsUser"] > 0) == (True, True)
        assert inside["allowPrivilegeEscalation"] is False
        assert inside["capabilities"] == {"drop": ["ALL"]}
        assert pod["automountServiceAccountToken"] is False
        assert container["image"] == IMAGE
        if each["kind"] == "Deployment":
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert each["spec"]["selector"]["matchLabels"] == labels
            assert each["metadata"]["name"] in budgets
        assert set(container) <= CONTAINER, set(container) - CONTAINER
        assert set(pod) <= POD, set(pod) - POD
        mounts = {mount["name"] for mount in container["volumeMounts"]}
        assert mounts == {volume["name"] for volume in pod["volumes"]}
    job = next(each for each in PODS if each["kind"] == "Job")
    assert job["metadata"]["name"] == f"punchlist-upgrade-{__version__.replace('.', '-')}"
    assert not any("data" in each for each in PODS if each["kind"] == "Secret")


CONTAINER = {
    *("name", "image", "args", "ports", "envFrom", "readinessProbe", "livenessProbe"),
    *("resources", "securityContext", "volumeMounts"),
}
POD = {
    *("automountServiceAccountToken", "restartPolicy", "securityContext", "volumes", "containers"),
    "terminationGracePeriodSeconds",
}


def test_the_image_is_made_of_files_that_are_there_on_a_pinned_base_for_a_plain_user():
    text = (DEPLOY / "Containerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert len(bases) == 2
    assert all(re.fullmatch(r"\S+:\d+\.\d+\.\d+-[\w-]+", base) for base in bases), bases
    for words in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / word).exists() for word in words.split()), words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r'"\.\[([\w,]+)\]"', text)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    assert re.findall(r"^USER (\d+):", text, re.MULTILINE)[-1:] == ["10001"]
    assert f"--tag {IMAGE} " in text
    for service in SERVICES.values():
        image = service["image"].rpartition("/")[2]
        assert re.search(r":\d+\.\d+", image), f"{image} is not pinned"


def test_systemd_reads_the_units(tmp_path):
    program = find_program("systemd-analyze")
    if not program:
        pytest.skip("NOT TESTED HERE: there is no systemd-analyze on this machine")
    files = []
    for file in UNITS:
        text = file.read_text().replace("/opt/punchlist/bin/punchlist", sys.executable)
        files.append(tmp_path / file.name.replace("@", "@1"))
        files[-1].write_text(text)
    ran = subprocess.run(
        [program, "verify", "--man=no", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in ran.stderr.splitlines() if "punchlist" in line]
    assert ours == []


def test_docker_compose_reads_its_file():
    docker = find_program("docker") or pytest.skip("NOT TESTED HERE: there is no docker")
    ran = subprocess.run([docker, "compose", "version"], capture_output=True, check=False)
    if ran.returncode:
        pytest.skip("NOT TESTED HERE: there is no docker compose on this machine")
    words = [docker, "compose", "--file", DEPLOY / "compose.yaml"]
    example = DEPLOY / "compose.env.example"
    told = subprocess.run(
        [*words, "--env-file", example, "config", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr


def test_a_worker_that_drains_is_alive_and_not_ready():
    def look():
        return WorkerHealth(worker="w", ready=False, draining=True, runs=("r1",), width=2)

    async def ask():
        server = HealthServer(look)
        address = await server.open("127.0.0.1", 0)
        port = int(address.rpartition(":")[2])
        async with httpx.AsyncClient(trust_env=False) as client:
            got = [await client.get(address + path) for path in (LIVE, READY, "/", "/live/x")]
        with pytest.raises(UsageError, match="cannot listen there"):
            await HealthServer(look).open("127.0.0.1", port)
        server.close()
        return got

    answers = asyncio.run(ask())
    assert [each.status_code for each in answers] == [200, 503, 503, 503]
    assert answers[0].json()["runs"] == ["r1"]
