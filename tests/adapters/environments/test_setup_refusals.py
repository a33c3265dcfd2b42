"""What `punchlist setup` says of a host that it may not reach names what has to be listed."""

import pytest

from punchlist.adapters.egress.traffic import RefusedTry
from punchlist.adapters.environments.registries import describe_refusal


@pytest.mark.parametrize(
    ("why", "what"),
    [
        ("its name leads to the inner address 10.1.2.3", "list that address in setup.hosts"),
        ("it is not listed", "list it in setup.hosts"),
    ],
)
def test_a_refused_host_is_told_with_what_to_list(why, what):
    assert what in describe_refusal(RefusedTry(target="pypi.example:443", why=why))
