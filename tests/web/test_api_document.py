"""The OpenAPI document is what the routes are, whole, and the same as the one in the documentation."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("litestar")
from punchlist.web.application import load_openapi

ROOT = Path(__file__).parents[2]


def operations():
    return [
        operation for methods in load_openapi()["paths"].values() for operation in methods.values()
    ]


def test_the_document_in_the_reference_is_the_one_that_is_served():
    assert json.loads((ROOT / "docs/reference/openapi.json").read_text()) == json.loads(
        json.dumps(load_openapi())
    ), "make reference"


def test_every_reference_in_it_leads_somewhere():
    text = json.dumps(load_openapi())
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(load_openapi()["components"]["schemas"])


def test_every_operation_has_a_name_a_summary_and_says_how_it_is_refused():
    names = [operation["operationId"] for operation in operations()]
    assert len(set(names)) == len(names)
    assert all(operation["summary"] for operation in operations())
    problem = {"$ref": "#/components/schemas/Problem"}
    for operation in operations():
        for status in ("400", "401", "403", "404", "409", "413", "421", "429"):
            assert (
                operation["responses"][status]["content"]["application/json"]["schema"] == problem
            )


def test_every_path_is_in_the_guide():
    guide = (ROOT / "docs/guides/api.md").read_text()
    assert [path for path in load_openapi()["paths"] if f"`{path}`" not in guide] == []


def test_the_command_line_does_not_load_the_server():
    code = "import sys; import punchlist.cli.commands.serve, punchlist.cli.root; print('litestar' in sys.modules, 'uvicorn' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert ran.stdout.split() == ["False", "False"]
