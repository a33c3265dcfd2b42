"""The mark that each payload leaves: a small program that says who started it, and tries to get out of the sandbox.

It reads a canary, writes a file, and calls a Unix socket and a TCP port: none of the four can be reached from inside.
A mark inside shows itself by its command line, which the watcher sees from outside.
"""

import json
import platform
import struct
import sys

PYTHON = "/usr/bin/python3"
LINGER = 0.15
"""Seconds that a mark inside of a sandbox stays, so that it is seen."""
SOURCE = r"""
import json, os, socket, sys, time
D = {data}
def attempt(act):
    try:
        return act() or True
    except OSError:
        return False
def parents():
    pid, lines = os.getppid(), []
    while pid > 1 and pid != D["top"] and len(lines) < 12:
        try:
            with open(f"/proc/{{pid}}/cmdline", "rb") as file:
                lines.append(file.read().replace(b"\0", b" ").decode("utf-8", "replace")[:160])
            with open(f"/proc/{{pid}}/stat") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            break
    return lines
def read():
    with open(D["canary"]) as file:
        return file.read().strip()
def call(family, where):
    with socket.socket(family) as link:
        link.settimeout(1)
        link.connect(where)
        link.sendall(told())
        link.shutdown(socket.SHUT_WR)
        link.recv(1)
def write():
    path = os.path.join(D["drop"], f"{{mark['id']}}.json")
    with open(path + ".part", "wb") as file:
        file.write(told())
    os.rename(path + ".part", path)
def told():
    return json.dumps(mark).encode()
mark = {{"id": os.urandom(8).hex(), "name": D["name"], "uid": os.getuid(), "argv": [each[:60] for each in sys.argv[:6]],
        "cwd": attempt(os.getcwd), "parents": parents()}}
mark["read"] = attempt(read)
mark["unix"] = attempt(lambda: call(socket.AF_UNIX, D["unix"]))
mark["tcp"] = attempt(lambda: call(socket.AF_INET, ("127.0.0.1", D["tcp"])))
mark["write"] = attempt(write)
if not (mark["read"] or mark["unix"] or mark["tcp"] or mark["write"]):
    mark["parents"] = []
then = D["then"] and [D["then"], *sys.argv[D["skip"]:]]
out = mark["read"] or mark["write"]
code = f"import os,sys,time;time.sleep({{0 if out else D['linger']}});a=sys.argv[3:];a and os.execv(a[0],a[1:])"
os.execv(D["python"], [D["python"], "-ISc", code, D["sign"], told().decode(), *(then or [])])
"""


def source(world, name, then="", skip=0):
    """The program's text; `then` is the program that it becomes, with the arguments from `skip` on."""
    data = {
        "name": name,
        "canary": str(world.canary),
        "drop": str(world.drop),
        "unix": world.addresses["unix"],
        "tcp": int(world.addresses["tcp"].rpartition(":")[2]),
        "python": PYTHON,
        "sign": world.sign,
        "linger": LINGER,
        "top": world.pid,
        "then": then,
        "skip": skip,
    }
    return SOURCE.format(data=repr(data))


def one_line(world, name, then="", skip=1):
    """The same as an argument of `python -c`, without quotes that a shell or git would take away."""
    return f"exec(bytes.fromhex('{source(world, name, then, skip).encode().hex()}'))"


def shell(world, name):
    """A command for a shell."""
    return f'{PYTHON} -ISc "{one_line(world, name)}"'


def script(world, name, then=""):
    """An executable text file."""
    return f"#!{PYTHON} -IS\n{source(world, name, then)}"


def python(world, name):
    """A statement for any module of Python."""
    return f"__import__('os').system({shell(world, name)!r})\n"


def javascript(world, name):
    """A statement for any module of Node.js."""
    return f"require('child_process').execSync({json.dumps(shell(world, name))});\n"


def ecmascript(world, name):
    return f"import {{execSync}} from 'node:child_process';\nexecSync({json.dumps(shell(world, name))});\n"


def elf(world, name, then=""):
    """A program without a first line that names another: x86-64 for Linux, made by hand; None elsewhere."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        return None
    words = [PYTHON, "-ISc", one_line(world, name, then, 1)]
    base, head = 0x400000, 64 + 56
    code = bytes.fromhex(
        "4889e5"  # mov rbp, rsp
        "488b4d00"  # mov rcx, [rbp]: the count of arguments
        "488d51 08".replace(" ", "")  # lea rdx, [rcx+8]
        + "48c1e203"  # shl rdx, 3
        "4829d4"  # sub rsp, rdx
        "4883e4f0"  # and rsp, -16
        "4889e7"  # mov rdi, rsp
    )
    places_at = base + head + 88
    for number in range(3):  # three words of our own come first
        code += b"\x48\xa1" + struct.pack("<Q", places_at + 8 * number)  # mov rax, [address]
        code += b"\x48\xab"  # stosq
    code += bytes.fromhex(
        "488d7508"  # lea rsi, [rbp+8]: the arguments
        "48ffc1"  # inc rcx: and the null after them
        "f348a5"  # rep movsq
        "4889f2"  # mov rdx, rsi: the environment
        "4889e6"  # mov rsi, rsp
        "488b3e"  # mov rdi, [rsi]
        "b83b000000"  # mov eax, 59
        "0f05"  # syscall
    )
    code = code.ljust(88, b"\xf4")
    texts = [word.encode() + b"\0" for word in words]
    starts = [places_at + 24 + sum(map(len, texts[:number])) for number in range(3)]
    body = code + struct.pack("<3Q", *starts) + b"".join(texts)
    size = head + len(body)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + head, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 7, 0, base, base, size, size, 0x1000) + body
