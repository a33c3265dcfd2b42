"""What other agents may ask for, and how they are told that something is wrong: what, and what to do next."""

import asyncio
import json
import subprocess
import tomllib

import clients
import jsonschema
import pytest
import workbench
from workbench import finding

from needs import rarely
from punchlist.installed import extra_hint
from punchlist.mcp.client_config import CLIENTS
from punchlist.mcp.tools import TOOLS

READ = ["list_runs", "run_status", "list_items", "show_item", "ask_for_proof"]
NOWHERE = "261115-000000/0123456789ab"
SAID = [{"id": "F001", "outcome": "fixed"}]

WRONG = {
    "an unknown tool": ("dance", {}, "no tool is called"),
    "an unknown field": ("list_runs", {"folder": "/etc"}, "folder"),
    "a wrong type": ("list_items", {"limit": "many"}, "$.limit"),
    "out of range": ("list_items", {"limit": 100000}, "$.limit"),
    "an unknown status": ("list_items", {"status": ["perfect"]}, "$.status"),
    "a missing field": ("show_item", {}, "item"),
    "an unknown run": ("run_status", {"run": "zzz"}, 'there is no run "zzz"'),
    "a run that is a path": ("run_status", {"run": "../../etc"}, "$.run"),
    "a run that is not text": ("run_status", {"run": 7}, "$.run"),
    "an unknown item": ("show_item", {"item": 99}, "has no item 99"),
    "an item below one": ("show_item", {"item": 0}, "$.item"),
    "an unknown repository": (
        "start_run",
        {"repository": "/etc"},
        "no such repository is served here",
    ),
    "an unknown workflow": ("start_run", {"workflow": "magic"}, "no workflow is called"),
    "a workflow that is a file": ("start_run", {"workflow": "../evil.yaml"}, "$.workflow"),
    "a path out of the repository": (
        "start_run",
        {"paths": ["shop/../../etc"]},
        "must stay inside",
    ),
    "an absolute path": ("start_run", {"paths": ["/etc/passwd"]}, "$.paths"),
    "a path with a zero byte": ("start_run", {"paths": ["a\0b"]}, "$.paths"),
    "a revision that is an option": ("start_run", {"base": "--output=/tmp/x"}, "$.base"),
    "a specification elsewhere": (
        "start_run",
        {"specification": ["../secret"]},
        "must stay inside",
    ),
    "an unknown role": ("start_run", {"play": ["king"]}, "no role is called"),
    "an agent that is not in use": ("start_run", {"agents": ["claude"]}, "not in use"),
    "checks that nobody allowed": ("start_run", {"allow_checks": True}, "takes the role admin"),
    "applying without the role": ("apply_run", {}, "takes the role admin"),
    "no findings": ("submit_findings", {"findings": []}, "$.findings"),
    "findings that are a path": ("submit_findings", {"findings": "/etc/passwd"}, "$.findings"),
    "an unknown task": ("report_outcomes", {"task": NOWHERE, "outcomes": SAID}, "there is no run"),
    "a task that is a path": (
        "report_outcomes",
        {"task": "last/../../etc", "outcomes": SAID},
        "$.task",
    ),
    "an unknown outcome": (
        "report_outcomes",
        {"task": NOWHERE, "outcomes": [{"id": "F001", "outcome": "great"}]},
        "outcome",
    ),
    "an answer to no question": ("answer_question", {"choice": "a"}, "has no open question"),
    "an answer of both kinds": (
        "answer_question",
        {"choice": "a", "answers": {"x": "y"}},
        "either a choice or texts",
    ),
    "a second look at nothing": ("look_again", {"items": [99]}, "has no item 99"),
    "a look that is none": ("look_again", {"items": [1], "look": "last"}, "is no second look"),
    "a run that has ended": ("resume_run", {}, "has ended"),
    "a task of another run": ("give_back", {"task": "x"}, "$.task"),
}


@pytest.fixture(scope="module")
def listed(tmp_path_factory):
    """A place with one run that only lists: one item."""
    folder = tmp_path_factory.mktemp("listed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clients.PLAIN_GIT.items():
            patch.setenv(name, value)
        repo = clients.Repo(folder / "repo")
        workbench.Workbench(repo, folder)
        place = clients.Place(repo, folder)
        with clients.Kept(place) as place.kept:
            place.do(submitted)
            yield place


async def submitted(agent, key="first"):
    told = await agent.call("submit_findings", findings=[finding("cheapest")], key=key)
    await agent.ended(told["run"])
    return told


def test_what_is_wrong_is_told_with_what_to_do_next_and_nothing_is_done(listed):
    async def story(agent):
        before = await agent.call("list_runs")
        told = {
            case: await agent.refused(tool, **arguments)
            for case, (tool, arguments, _) in WRONG.items()
        }
        assert await agent.call("list_runs") == before
        return told

    told = listed.do(story)
    assert {case: text for case, text in told.items() if WRONG[case][2] not in text} == {}
    assert {case: text for case, text in told.items() if "\nnext: " not in text} == {}
    assert {
        case: text for case, text in told.items() if "Traceback" in text or "PUNCHLIST_HOME" in text
    } == {}


def test_a_reader_is_offered_only_what_reads_and_is_refused_the_rest(listed):
    async def story(agent):
        offered = (await agent.client.list_tools()).tools
        refused = [await agent.refused(tool.name) for tool in TOOLS if tool.name not in READ]
        return offered, refused

    offered, refused = listed.do(story, "--role", "read")
    assert [tool.name for tool in offered] == READ
    assert all(tool.annotations.read_only_hint for tool in offered)
    assert all("takes the role" in text for text in refused)


def test_every_tool_says_what_it_takes_and_gives_and_does(listed):
    async def story(agent):
        return (await agent.client.list_tools()).tools

    offered = {tool.name: tool for tool in listed.do(story, "--role", "admin")}
    assert list(offered) == [tool.name for tool in TOOLS]
    for tool in offered.values():
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
        assert "$ref" not in json.dumps(tool.input_schema)
        assert tool.description
    assert [name for name, tool in offered.items() if tool.annotations.destructive_hint] == [
        "apply_run"
    ]
    assert offered["start_run"].annotations.idempotent_hint is False
    assert "apply_run" not in [tool.name for tool in listed.do(story)]


def test_the_newest_protocol_is_spoken_as_well(listed):
    async def story():
        async with listed.agent(mode="auto") as agent:
            return agent.client.protocol_version, (await agent.call("list_runs"))["total"]

    version, total = asyncio.run(story())
    assert version >= "2026"
    assert total == 1


def test_items_are_listed_with_filters_and_page_by_page(listed):
    async def story(agent):
        calls = (
            {},
            {"status": ["open"]},
            {"status": ["fixed"]},
            {"path": "shop/"},
            {"text": "DEAREST"},
            {"offset": 1},
        )
        return [await agent.call("list_items", **wish) for wish in calls]

    pages = listed.do(story)
    assert [(page["total"], len(page["items"])) for page in pages] == [
        (1, 1),
        (1, 1),
        (0, 0),
        (1, 1),
        (1, 1),
        (1, 0),
    ]
    assert pages[0]["items"][0]["why"] == "no fix is known"


def test_the_same_key_starts_one_run_and_other_findings_under_it_are_refused(listed):
    async def story(agent):
        again = await submitted(agent)
        other = await agent.refused("submit_findings", findings=[finding("page")], key="first")
        return again, other, (await agent.call("list_runs"))["total"]

    again, other, total = listed.do(story)
    assert (again["already"], len(again["items"]), total) == (True, 1, 1)
    assert "this key was used for other findings" in other


def test_resources_show_reports_the_ledger_without_settings_and_items(listed):
    async def story(agent):
        names = [str(each.uri) for each in (await agent.client.list_resources()).resources]
        patterns = [
            each.uri_template
            for each in (await agent.client.list_resource_templates()).resource_templates
        ]
        last = "punchlist://runs/last"
        texts = {}
        for what in ("report.md", "report.json", "report.sarif", "ledger.jsonl", "items/1"):
            texts[what] = (await agent.client.read_resource(f"{last}/{what}")).contents[0].text
        wrong = {}
        for address in (
            f"{last}/items/9",
            f"{last}/../lock",
            f"{last}/settings.toml",
            "file:///etc/passwd",
            f"{last}/lock",
        ):
            try:
                wrong[address] = (await agent.client.read_resource(address)).contents[0].text
            except Exception as error:  # noqa: BLE001 - whatever the client makes of a refusal
                wrong[address] = f"refused: {error}"
        return names, patterns, texts, wrong

    names, patterns, texts, wrong = listed.do(story)
    assert len(names) == 2
    assert len(patterns) == 7
    assert "cheapest() returns the dearest" in texts["report.md"]
    lines = [json.loads(line) for line in texts["ledger.jsonl"].splitlines()]
    assert lines[0]["event"]["kind"] == "started"
    assert lines[0]["event"]["settings"] == ""
    assert lines[-1]["event"]["kind"] == "ended"
    assert json.loads(texts["items/1"])["code"] == "F001"
    assert json.loads(texts["report.json"])["run"]["workflow"] == "review"
    assert {
        address: text for address, text in wrong.items() if not text.startswith("refused")
    } == {}


def test_prompts_say_how_to_work_through_the_list(listed):
    async def story(agent):
        offered = [each.name for each in (await agent.client.list_prompts()).prompts]
        named = await agent.client.get_prompt("work-through", {"run": "261115-0a1b2c"})
        plain = await agent.client.get_prompt("review-and-fix")
        return offered, named.messages[0].content.text, plain.messages[0].content.text

    offered, named, plain = listed.do(story)
    assert offered == ["work-through", "review-and-fix"]
    assert "punch list of run 261115-0a1b2c" in named
    assert "{{" not in named + plain
    assert all(f"`{tool}`" in named for tool in ("next_task", "report_outcomes", "ask_for_proof"))


def test_an_entry_that_is_not_understood_costs_only_itself(place):
    async def story(agent):
        odd = [
            finding("cheapest"),
            {"severity": "major"},
            7,
            {**finding("page"), "file_path": "../../etc/passwd"},
        ]
        return await agent.call("submit_findings", findings=odd)

    told = place.do(story)
    assert sorted(item["title"] for item in told["items"]) == [
        "cheapest() returns the dearest",
        "page() skips the first page",
    ]
    assert len(told["refused"]) == 2


def test_runs_of_other_repositories_are_not_there(listed, make_repo):
    other = make_repo("elsewhere")
    other.commit({"a.py": "x = 1\n"})

    async def story(agent):
        return await agent.call("list_runs"), await agent.refused("run_status", run="last")

    page, said = listed.do(story, repositories=(other.root,))
    assert (page["total"], [each["name"] for each in page["repositories"]]) == (0, ["elsewhere"])
    assert "nothing has been run here yet" in said


def test_of_several_repositories_one_has_to_be_named(listed, make_repo):
    other = make_repo("elsewhere")
    other.commit({"a.py": "import os\n"})

    async def story(agent):
        said = await agent.refused("start_run", workflow="review")
        started = await agent.call(
            "start_run", workflow="review", repository="elsewhere", kind="all"
        )
        await agent.ended(started["id"])
        return said, started["repository"], (await agent.call("list_runs"))["total"]

    said, repository, total = listed.do(story, repositories=(listed.repo.root, other.root))
    assert "which repository is meant?" in said
    assert "elsewhere" in said
    assert (repository, total) == ("elsewhere", 2)


@pytest.mark.parametrize("name", ["claude", *rarely("../x", "a.b", "")])
def test_a_client_cannot_go_by_the_name_of_an_agent_that_punchlist_starts(listed, name):
    line = listed.warm_command("--as", name)
    done = subprocess.run(
        line,
        cwd=listed.repo.root,
        env=listed.env,
        capture_output=True,
        text=True,
        check=False,
        input="",
    )
    assert done.returncode == 2
    assert f"--as {name}:" in done.stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_the_configuration_of_a_client_starts_this_server(listed, client):
    line = listed.command("--print-config", client, "--role", "read")
    done = subprocess.run(
        line, cwd=listed.repo.root, env=listed.env, capture_output=True, text=True, check=True
    )
    told = tomllib.loads(done.stdout) if client == "codex" else json.loads(done.stdout)
    servers = next(
        told[name] for name in ("mcpServers", "mcp_servers", "mcp", "servers") if name in told
    )
    entry = servers["punchlist"]
    words = entry["command"] if client == "opencode" else [entry["command"], *entry["args"]]
    env = entry.get("env") or entry["environment"]
    assert words[-4:] == ["--set", "analyzers.enabled=ruff", "--set", "analyzers.select=E,F,B,UP"]
    assert str(listed.repo.root) in words
    assert env["PUNCHLIST_HOME"] == str(listed.home)
    assert str(listed.home / "repos") in done.stdout + done.stderr, (
        "where a fixer must be able to write"
    )


def test_without_the_extra_it_says_what_to_install(listed, tmp_path):
    (tmp_path / "mcp.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n"
    )
    env = {**listed.env, "PYTHONPATH": f"{tmp_path}:{listed.env['PYTHONPATH']}"}
    done = subprocess.run(
        listed.command(), cwd=listed.repo.root, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 6
    assert extra_hint("mcp") in done.stderr


def test_lines_that_are_no_messages_do_not_end_the_server(listed):
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    }
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "list_runs", "arguments": {"limit": "\ud800"}},
    }
    odd = [
        b"garbage",
        b'{"jsonrpc": "2.0"',
        b"[]",
        b"\xff\xfe",
        b'{"jsonrpc": "2.0", "id": 9, "method": "no/such"}',
    ]
    lines = [
        *odd,
        json.dumps(hello).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        json.dumps(call).encode(),
    ]
    program = subprocess.Popen(
        listed.warm_command(),
        cwd=listed.repo.root,
        env=listed.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with program:
        for line in [*lines, b'{"jsonrpc": "2.0", "id": 3, "method": "tools/list"}']:
            program.stdin.write(line + b"\n")
        program.stdin.flush()
        answers = {}
        for line in program.stdout:
            told = json.loads(line)
            answers[told.get("id")] = told
            if 3 in answers:
                break
        program.stdin.close()
        assert program.wait(timeout=60) == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "punchlist"
    assert answers[3]["result"]["tools"]


def test_a_client_that_is_killed_in_the_middle_of_an_answer_is_no_fault_of_the_server(listed):
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "gone", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        listed.warm_command(), cwd=listed.repo.root, env=listed.env, text=True, **pipes
    ) as server:
        server.stdout.close()
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.close()
        said = server.stderr.read()
    assert (server.returncode, said) == (0, "")
    assert not list(listed.home.glob("crashes/*"))
