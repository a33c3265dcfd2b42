"""verified from the command line and the library: what each cycle is told, does and leaves behind."""

import asyncio
import json

from workbench import BASE, FAULTS, finding, fix, fixer, review

from punchlist import review_and_fix

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
BREAKS = {"path": "shop/prices.py", "replace": "sum(prices)", "with": "sum(prices) + 1"}
CRASHES = {
    "path": "shop/prices.py",
    "replace": "return sum(prices)",
    "with": '__import__("os").abort()',
}
SEEN = ["Earlier attempts at F001", "-m unittest\n", "test_total", "AssertionError: 4 != 3"]
RUN = ("run", "--yes", "--workflow", "verified", "--set", "analyzers.enabled=")


def with_edits(name: str, *edits: dict) -> dict:
    """The right fix of a fault, and more."""
    right = fix(name)
    return {**right, "edits": [*right["edits"], *edits]}


def report(bench) -> dict:
    return json.loads(bench.type("report", "--format", "cycles.json").out)


def test_a_red_check_and_a_crashed_check_go_into_the_next_prompt_and_the_third_cycle_passes(bench):
    suggested = bench.folder / "suggested"
    beside = (
        {"path": "shop/pages.py", "append": "\n# seen\n"},
        {"path": "shop/fresh.py", "content": "WHY = 1\n"},
        BREAKS,
    )
    bench.play(
        review("mean"),
        {
            **fixer(with_edits("mean", *beside), round=1),
            "answer": {
                "outcomes": "{fixes}",
                "verification_commands": [f"touch {suggested}"],
                "checks": [f"touch {suggested}"],
            },
        },
        fixer(with_edits("mean", CRASHES), round=2, prompt=SEEN),
        fixer(fix("mean"), round=3, prompt=["ended by signal 6", "-m unittest"]),
    )
    told = bench.type(*RUN)
    assert told.code == 0, told.out + told.err
    first, second, third = report(bench)["cycles"]
    assert [each["verification"]["status"] for each in (first, second, third)] == [
        "failed",
        "failed",
        "passed",
    ]
    assert (report(bench)["final_status"], report(bench)["total_cycles"]) == ("passed", 3)
    assert "shop/fresh.py" in first["files"]
    assert "+WHY = 1" in first["diff"]
    assert any("shop/pages.py" in note for note in first["agents"][0]["noted"])
    assert "test_total" in " ".join(first["verification"]["failures"])
    assert "signal 6" in " ".join(second["verification"]["failures"])
    assert not suggested.exists()
    assert "if prices else None" in bench.landed("shop/prices.py")
    assert "fresh.py" not in bench.repo.git("log", "--all", "--name-only")


def test_a_dry_run_prints_the_prompt_without_secrets_and_starts_nothing(bench):
    far = "".join(f"def far_{n}():\n    return {n}\n\n\n" for n in range(200))
    bench.repo.git("checkout", "--quiet", "main")
    bench.repo.commit({"shop/long.py": far}, "a long file")
    bench.repo.git("checkout", "--quiet", "feature")
    bench.repo.git("merge", "--quiet", "main")
    bench.repo.commit({"shop/long.py": far.replace("return 100\n", "return -100\n")}, "a fault")
    there = {"file_path": "shop/long.py", "line_start": 402, "title": "far_100() is negative"}
    found = [
        finding("mean", suggested_fix=f"log in with {SECRET}"),
        finding("page", **there, line_end=402),
    ]
    (bench.folder / "findings.json").write_text(json.dumps(found))
    bench.play(review("mean"), fixer(fix("mean")))
    told = bench.type(*RUN, "--findings", str(bench.folder / "findings.json"), "--dry-run")
    assert told.code == 0, told.err
    prompt = "".join(told.out.split("What the fixer would be asked")[1:])
    for shown in (
        FAULTS["mean"][0],
        "file: shop/prices.py:9",
        "major",
        "def mean(prices)",
        "log in with",
        BASE["AGENTS.md"].strip(),
        "-m unittest",
        "-    return 100\n+    return -100",
    ):
        assert shown in prompt
    assert SECRET not in told.out
    assert "far_50" not in prompt
    assert "break nothing" in prompt
    assert bench.calls == []
    assert json.loads(bench.type("list", "--json").out) == []


def test_what_was_cancelled_in_the_second_cycle_leaves_the_first_one_and_has_not_passed(bench):
    bench.play(
        review("mean"),
        fixer(with_edits("mean", BREAKS), round=1),
        fixer(fix("mean"), round=2, seconds=60),
    )

    async def work():
        def follow(entry, run):
            event = entry.event
            if type(event).__name__ == "Begun" and event.role == "fixer" and event.round == 2:
                asyncio.get_running_loop().call_soon(task.cancel)

        task = asyncio.create_task(
            review_and_fix(
                "",
                repository=bench.repo.root,
                workflow="verified",
                allow_checks=True,
                settings={"analyzers.enabled": ""},
                on_event=follow,
            )
        )
        return await task

    done = asyncio.run(work())
    assert (done.interrupted, done.fixed, done.outcome) == (True, 0, "incomplete")
    (cycle,) = report(bench)["cycles"]
    assert cycle["verification"]["status"] == report(bench)["final_status"] == "failed"
    assert len(done.items) == 1


def test_what_does_not_fit_into_a_prompt_is_cut_by_severity_and_comes_next(bench):
    long = {"file_path": "shop/prices.py", "description": "It goes on and on. " * 200}
    found = [
        finding(name, **long, line_start=line, line_end=line)
        for line, name in enumerate(FAULTS, start=4)
    ]
    bench.play({"role": "technical", "answer": {"findings": found}}, fixer(*map(fix, FAULTS)))
    bench.type(*RUN, "--set", "agents.prompt-limit=9500")
    severities = {item["number"]: item["severity"] for item in items(bench)}
    first = report(bench)["cycles"][0]["agents"][0]
    cut = {severities[number] for number in first["left_out"]}
    assert cut
    assert "critical" not in cut
    asked = {claim["item"] for claim in first["claims"]}
    assert {severities[number] for number in asked} >= {"critical"}
    later = {
        claim["item"]
        for cycle in report(bench)["cycles"][1:]
        for turn in cycle["agents"]
        for claim in turn["claims"]
    }
    assert later & set(first["left_out"])
    assert {item["status"] for item in items(bench)} <= {"fixed", "filed"}
    assert len(severities) == 4


def items(bench) -> list[dict]:
    return json.loads(bench.type("status", "--json").out)["report"]["items"]


def test_without_findings_no_fixer_is_asked_and_the_report_is_empty_and_says_so(bench):
    bench.play(review())
    assert bench.type(*RUN).code == 0
    assert [role for _, role in bench.calls] == ["technical"]
    told = report(bench)
    assert (told["cycles"], told["total_cycles"], told["fixes_applied"]) == ([], 0, 0)
    assert told["note"] == "no agent tried a fix"
    assert told["final_status"] == "unverified"
