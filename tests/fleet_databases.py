"""Databases of a real PostgreSQL server with all tables of a fleet."""

from contextlib import ExitStack
from itertools import count

import psycopg
import pytest

from postgres_server import run_server
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.stores import upgrade_store

_NUMBERS = count()


@pytest.fixture(scope="session")
def fleet_server():
    """A server with the database `made`, which has all tables and is copied for each test."""
    with run_server() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as base:
            base.execute("CREATE DATABASE made")
        upgrade_store(f"{url}/made")
        yield url


@pytest.fixture
def fleet_url(fleet_server):
    name = f"fleet_{next(_NUMBERS)}"
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute(f"CREATE DATABASE {name} TEMPLATE made")
    yield f"{fleet_server}/{name}"
    with psycopg.connect(f"{fleet_server}/postgres", autocommit=True) as base:
        base.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def open_fleet(fleet_url, tmp_path):
    with ExitStack() as stack:

        def open_one(**how):
            state = PostgresState(fleet_url, tmp_path / "home", **how)
            stack.callback(state.close)
            return state

        yield open_one
