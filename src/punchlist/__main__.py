"""`python -m punchlist` is the `punchlist` command."""

from punchlist.cli import main

main()
