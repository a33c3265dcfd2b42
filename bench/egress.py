"""What the egress proxy adds to a connection and to the start of a child, beside the same without it.

    python bench/egress.py [--times 300] [--rounds 5]

A client in a sandbox asks a server on loopback through the proxy (a plain request, a tunnel, a request to its model with the key
added outside); the same client asks the same server directly. Both take turns. On a busy machine
the median is mostly waiting for a processor, so the fastest twentieth and the proxy's processor time stand beside it. The goal: at most 1 ms more. The start is `true` in a sandbox with the launcher and without.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from punchlist.adapters.egress.door import Egress
from punchlist.adapters.egress.policy import EgressPolicy, ModelRoute, parse_base_url, parse_rule
from punchlist.adapters.egress.run_behind_proxy import run_behind_proxy
from punchlist.adapters.process.run import Origin, base_environment, run
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox

SERVER = """
import asyncio
async def serve(reader, writer):
    try:
        while await reader.readuntil(b"\\r\\n\\r\\n"):
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello"); await writer.drain()
    except asyncio.IncompleteReadError: pass
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
CLIENT = """
import http.client, json, sys, time
how, port, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
taken = []
for _ in range(times):
    began = time.perf_counter()
    client = http.client.HTTPConnection("127.0.0.1", port if how == "direct" else 3128)
    if how == "tunnel": client.set_tunnel("127.0.0.1", port)
    path = f"http://127.0.0.1:{port}/" if how == "plain" else "/"
    headers = {"Host": f"127.0.0.1:{port}", **({"x-api-key": "PLACE"} if how == "model" else {})}
    client.request("GET", path, headers=headers)
    answer = client.getresponse()
    assert answer.read() == b"hello", answer.status
    client.close()
    taken.append((time.perf_counter() - began) * 1000)
print(json.dumps(taken))
"""
WAYS = {"plain": "plain request", "tunnel": "tunnel (CONNECT)", "model": "to the model, key added"}


async def measure(port, times, rounds):
    base = parse_base_url(f"http://127.0.0.1:{port}")
    policy = EgressPolicy(
        (parse_rule(f"127.0.0.1:{port}"),), (ModelRoute("", base, {"PLACE": "key"}),)
    )
    env, walls = base_environment(), Sandbox(kind=ChildKind.AGENT)
    taken, spent = {how: [] for how in ("direct", *WAYS)}, dict.fromkeys(WAYS, 0.0)
    for _ in range(rounds):
        for how in taken:
            command = ["/usr/bin/python3", "-I", "-S", "-c", CLIENT, how, str(port), str(times)]
            began = time.process_time()
            if how == "direct":
                ran = await run(command, origin=Origin.USERS, cwd=Path("/"), env=env)
            else:
                ran = await run_behind_proxy(
                    command,
                    Egress(policy),
                    walls,
                    origin=Origin.USERS,
                    cwd=Path("/"),
                    env=env,
                    timeout=600,
                )
            assert ran.ok, (ran.trouble, ran.stderr.decode())
            taken[how] += json.loads(ran.stdout)
            if how in spent:
                spent[how] += (time.process_time() - began) * 1000
    return taken, {how: each / (times * rounds) for how, each in spent.items()}


async def measure_start(times):
    env, walls = base_environment(), Sandbox(kind=ChildKind.AGENT)
    taken = {"without": [], "with": []}
    for _ in range(times):
        for how, egress in (("without", None), ("with", Egress(EgressPolicy()))):
            began = time.perf_counter()
            ran = await run_behind_proxy(
                ["true"], egress, walls, origin=Origin.USERS, cwd=Path("/"), env=env, timeout=60
            )
            assert ran.ok, ran.stderr
            taken[how].append((time.perf_counter() - began) * 1000)
    return taken


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    server = subprocess.Popen(
        [sys.executable, "-I", "-c", SERVER], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(server.stdout.readline())
        taken, spent = asyncio.run(measure(port, chosen.times, chosen.rounds))
        started = asyncio.run(measure_start(20))
    finally:
        server.terminate()
        server.wait()
    middle = {how: statistics.median(each) for how, each in taken.items()}
    quick = {how: statistics.quantiles(each, n=20)[0] for how, each in taken.items()}
    print(
        f"{'new connection, ms':<28}{'median':>8}{'added':>8}{'x direct':>10}{'fastest 5%':>12}{'added':>8}{'CPU of the proxy':>18}"
    )
    for how, name in {"direct": "direct", **WAYS}.items():
        added, ratio = middle[how] - middle["direct"], middle[how] / middle["direct"]
        least = f"{quick[how]:>12.2f}{quick[how] - quick['direct']:>8.2f}"
        print(
            f"{name:<28}{middle[how]:>8.2f}{added:>8.2f}{ratio:>10.2f}{least}{spent.get(how, 0):>18.2f}"
        )
    before, after = (statistics.median(started[how]) for how in ("without", "with"))
    print(
        f"start of a child: {before:.0f} ms without the launcher, {after:.0f} with it (x {after / before:.2f})"
    )


if __name__ == "__main__":
    main()
