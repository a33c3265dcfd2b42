"""A fleet whose workers are killed: bench/fleet/chaos.py, in `make soak`."""

import subprocess
import sys
from pathlib import Path

import pytest

from needs import miss, rarely
from postgres_server import find_programs

CHAOS = Path(__file__).parents[2] / "bench" / "fleet" / "chaos.py"
SMALL = (
    "--folder --calm 1 --runs 2 --workers 2 --random 1 --chosen 1 --stopped 0 --lease 3 --gap 0.5"
)
CALM = "--random 0 --chosen 0 --stopped 0"


@pytest.mark.parametrize(
    "words",
    [
        *rarely(
            f"{SMALL} --seconds 0.3",
            "--runs 100 --random 20 --chosen 20 --stopped 5",
            f"--runs 20 {CALM} --away database=30",
            f"--runs 20 {CALM} --away objects=30",
            f"--runs 40 {CALM} --full 6 --jumps 10",
        )
    ],
)
def test_nothing_is_lost_or_done_twice_and_every_run_ends_as_without_trouble(words):
    if find_programs() is None:
        miss("NOT TESTED: PostgreSQL is not installed")
    ran = subprocess.run(
        [sys.executable, str(CHAOS), *words.split()], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "lost 0, something twice or broken 0, another outcome 0" in ran.stdout


def test_it_can_be_started():
    ran = subprocess.run([sys.executable, str(CHAOS), "--help"], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
