"""The state of one machine keeps the contract of states."""

from contextlib import ExitStack

import pytest
from notices_contract import *  # noqa: F403 - all tests of the contract
from serving_contract import *  # noqa: F403 - all tests of the contract
from state_contract import *  # noqa: F403 - all tests of the contract

from punchlist.adapters.store.embedded import EmbeddedState


@pytest.fixture
def open_state(tmp_path):
    with ExitStack() as stack:

        def open_one():
            state = EmbeddedState(tmp_path / "home")
            stack.callback(state.close)
            return state

        yield open_one
