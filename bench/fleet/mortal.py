"""`punchlist worker` on a machine that fails at a chosen point.

    python bench/fleet/mortal.py FOLDER worker ...

A file KIND.NUMBER in the folder is an order: the first worker that is about to record an event of that kind, whose effect is done,
removes the file and is killed with all that it started.
"""

import os
import signal
import sys
from pathlib import Path

from punchlist.adapters.postgres.ledger import PostgresStore
from punchlist.cli import main

ORDERS = Path(sys.argv.pop(1))


def append(store, run, place, key, event, at):
    for order in ORDERS.glob(f"{event.__struct_config__.tag}.*"):
        try:
            order.unlink()
        except FileNotFoundError:
            continue  # another worker obeys it
        (ORDERS / f"obeyed-{order.name}-{os.getpid()}").touch()
        os.killpg(0, signal.SIGKILL)
    return plain_append(store, run, place, key, event, at)


plain_append, PostgresStore.append = PostgresStore.append, append
sys.argv[0] = "punchlist"
main()
