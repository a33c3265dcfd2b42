"""How long `punchlist --version` and `punchlist --help` take, beside a bare interpreter and one that imports click.

    python bench/startup.py [--times 25]

Processor time of the child (user and system), so that a busy machine does not decide; the commands take turns, and the median
counts. The goal: `--version` under twice an interpreter with click.
"""

import argparse
import os
import statistics
import subprocess
import sys

COMMANDS = {
    "python -c pass": ("-c", "pass"),
    "python -c 'import click'": ("-c", "import click"),
    "punchlist --version": ("-c", "from punchlist.cli import main; main(['--version'])"),
    "punchlist --help": ("-c", "from punchlist.cli import main; main(['--help'])"),
    "import punchlist.cli.run_driver": ("-c", "import punchlist.cli.run_driver"),
}
BESIDE = "python -c 'import click'"


def spent(arguments):
    """Milliseconds of processor time of one child."""
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, arguments
    return (usage.ru_utime + usage.ru_stime) * 1000


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=25)
    times = parser.parse_args().times
    for arguments in COMMANDS.values():
        spent(arguments)  # the first time compiles
    taken = {name: [] for name in COMMANDS}
    for _ in range(times):
        for name, arguments in COMMANDS.items():
            taken[name].append(spent(arguments))
    middle = {name: statistics.median(each) for name, each in taken.items()}
    print(f"{'command':<32}{'CPU ms':>8}{'x click':>9}")
    for name, median in middle.items():
        print(f"{name:<32}{median:>8.1f}{median / middle[BESIDE]:>9.2f}")


if __name__ == "__main__":
    main()
