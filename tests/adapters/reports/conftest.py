"""Runs for the reports' tests, each folded once."""

import pytest
from odd_runs import crowd, hostile
from sample_run import sample


@pytest.fixture(scope="session")
def run():
    return sample()


@pytest.fixture(scope="session")
def nasty():
    return hostile()


@pytest.fixture(scope="session")
def unverified():
    return sample(unverified="no checks are configured or were found", trouble=False)


@pytest.fixture(scope="session")
def make_crowd():
    return crowd
