"""The API holds to its OpenAPI document whatever it is sent: requests made up from the document, right ones and wrong ones."""

import pytest

pytest.importorskip("litestar")
from hypothesis import HealthCheck, Phase, given, settings
from reading import end, ledger

from needs import SOAK
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.web.application import load_openapi

RUN = "261115-bbbbbb"
MADE_UP = settings(
    max_examples=10 if SOAK else 5,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


DOCUMENT = load_openapi()
ROUTES = [
    f"{path} {method}"
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if method in ("get", "post", "put", "delete")
]


@pytest.fixture(scope="module")
def kept(house):
    with SqliteStore.open(house.home) as store:
        ledger(store, RUN, str(house.folder / "repo" / ".git"), 3)
        end(store, RUN)
    (house.home / "runs" / RUN).mkdir(parents=True)
    (house.home / "runs" / RUN / "report.md").write_text("# all\n")
    return house


@pytest.fixture(scope="module")
def schemathesis():
    """Imported for these tests alone: it takes long, and others are collected without it."""
    return pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def checks(schemathesis):
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    return (
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    )


@pytest.mark.parametrize("route", ROUTES)
def test_whatever_is_sent_the_answer_is_as_the_document_says(route, kept, schemathesis, checks):
    path, method = route.rsplit(" ", 1)
    operation = schemathesis.openapi.from_dict(DOCUMENT)[path][method]

    @MADE_UP
    @given(case=operation.as_strategy())
    def holds(case):
        if "run_id" in case.path_parameters and len(case.path_parameters["run_id"]) % 2:
            case.path_parameters["run_id"] = RUN
        headers = {"authorization": f"Bearer {kept.tokens['admin']}"}
        response = case.call(base_url=kept.address, headers=headers, timeout=30)
        case.validate_response(response, checks=checks)
        assert str(kept.home) not in response.text

    holds()
