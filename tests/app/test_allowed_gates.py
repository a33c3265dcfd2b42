"""What was allowed covers exactly these commands, also those that format."""

from msgspec.structs import replace

from punchlist.app.start.allowance import hash_checks
from punchlist.model.checks.check import Check, CheckKind


def test_a_new_gate_or_another_way_to_format_is_asked_for_again():
    tests = Check(name="pytest", command=("python", "-m", "pytest"), kind=CheckKind.PYTEST)
    gate = Check(name="black", command=("black", "--check", "."), kind=CheckKind.GATE)
    formats = replace(gate, repair=("black", "."))
    sets = [(tests,), (tests, gate), (tests, formats), (tests, replace(formats, repair=("sh",)))]
    assert len({hash_checks(checks) for checks in sets}) == len(sets)
    assert hash_checks((tests, formats)) == hash_checks((formats, tests))
