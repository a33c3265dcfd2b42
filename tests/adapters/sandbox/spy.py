"""A child that tries everything: reads what it is told of, writes, reaches out, breaks out. It prints one line."""

import contextlib
import ctypes
import errno
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGETS = json.loads((HERE / "targets.json").read_text())
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
CALLS = {
    "ptrace": (101 if X86 else 117, 0, 0, 0, 0),
    "mount": (165 if X86 else 40, b"none", b"/tmp", b"tmpfs", 0, 0),
    "umount": (166 if X86 else 39, b"/tmp", 0),
    "chroot": (161 if X86 else 51, b"/tmp"),
    "unshare user": (272 if X86 else 97, 0x10000000),
    "unshare mount": (272 if X86 else 97, 0x00020000),
    "setns": (308 if X86 else 268, 0, 0),
    "keyctl": (250 if X86 else 219, 0, -3, 0),
    "bpf": (321 if X86 else 280, 0, 0, 0),
    "perf": (298 if X86 else 241, 0, 0, -1, -1, 0),
    "userfaultfd": (323 if X86 else 282, 1),
    "io_uring": (425, 1, ctypes.create_string_buffer(200)),
    "fsopen": (430, b"tmpfs", 0),
    "open_tree": (428, -100, b"/", 1),
    "clone3": (435, ctypes.create_string_buffer(88), 88),
}


def find_read():
    for path in TARGETS["read"]:
        with contextlib.suppress(OSError):
            text = Path(path).read_bytes()
            yield from (name for name in TARGETS["marks"] if name.encode() in text)


def find_written():
    for path in TARGETS["write"]:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
            yield path


def find_reached():
    for kind, family, address in TARGETS["reach"]:
        where = tuple(address) if isinstance(address, list) else address
        with contextlib.suppress(OSError), socket.socket(getattr(socket, family)) as door:
            door.settimeout(3)
            door.connect(where)
            yield kind


def send_datagrams():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        for _ in range(3):
            door.sendto(b"x", tuple(TARGETS["datagrams"]))


def find_allowed():
    for name, call in CALLS.items():
        pid = os.fork()
        if pid == 0:
            done = LIBC.syscall(*call) >= 0
            os._exit(done or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS))
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            yield name
    for name, family, kind, protocol in (
        ("raw", socket.AF_INET, socket.SOCK_RAW, 1),
        ("packet", 17, socket.SOCK_RAW, 3),
        ("vsock", 40, socket.SOCK_STREAM, 0),
        ("crypto", 38, socket.SOCK_SEQPACKET, 0),
        ("netfilter", 16, socket.SOCK_RAW, 12),
    ):
        with contextlib.suppress(OSError), socket.socket(family, kind, protocol):
            yield name
    status = dict(
        line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines()
    )
    yield from ["capabilities"] if int(status["CapEff"], 16) else []
    # Without new privileges nothing comes of it, and only root can give it up.
    yield from ["capabilities to gain"] if int(status["CapBnd"], 16) else []
    yield from ["new privileges"] if status["NoNewPrivs"].strip() != "1" else []


def find_touched():
    """What can be done to a file outside by other calls than open, and to its folder."""
    victim = Path(TARGETS["victim"])
    own = Path(os.environ.get("TMPDIR", "/tmp")) / "own"
    calls = {
        "truncate": lambda: os.truncate(victim, 1),
        "rename": lambda: victim.rename(victim.with_name("renamed")),
        "replace": lambda: [own.write_text("x"), own.replace(victim)],
        "link here": lambda: os.link(victim, own.with_name("linked")),
        "link there": lambda: [own.write_text("x"), os.link(own, victim.with_name("linked"))],
        "symlink": lambda: victim.with_name("symlinked").symlink_to("x"),
        "folder": lambda: victim.with_name("folder").mkdir(),
        "pipe": lambda: os.mkfifo(victim.with_name("pipe")),
        "unlink": victim.unlink,
        "mode": lambda: victim.chmod(victim.stat().st_mode & 0o777 ^ 0o4),
        "time": lambda: os.utime(victim),
        "attribute": lambda: os.setxattr(victim, f"user.{os.urandom(4).hex()}", b"x"),
    }
    for name, call in calls.items():
        with contextlib.suppress(OSError):
            before = look(victim)
            with contextlib.suppress(OSError):
                call()
            if look(victim) != before:
                yield name


def look(victim):
    stat = victim.stat()
    times = (stat.st_mtime_ns, stat.st_size, stat.st_mode, stat.st_nlink)
    return times, os.listxattr(victim), victim.parent.stat().st_mtime_ns


def find_met():
    """Processes outside that can be sent signals, or looked into."""
    pid = TARGETS["process"]
    for name, call in (
        ("signal", lambda: os.kill(pid, 0)),
        ("variables", lambda: Path(f"/proc/{pid}/environ").read_bytes()),
        ("files", Path(f"/proc/{pid}/fd/0").readlink),
        ("root", lambda: list(Path(f"/proc/{pid}/root/etc").iterdir())),
    ):
        with contextlib.suppress(OSError):
            call()
            yield name


def find_seen():
    """What can be listed where nothing should be."""
    for folder in ("/run", "/var/run", "/home", "/root", "/srv", TARGETS["world"], TARGETS["home"]):
        with contextlib.suppress(OSError):
            yield from map(str, Path(folder).iterdir())


def ask_git():
    for arguments in (
        ["status", "--porcelain"],
        ["log", "-1", "--format=%s"],
        ["describe", "--tags"],
        ["diff", "HEAD"],
    ):
        ran = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
        yield (ran.stdout or ran.stderr).strip() if ran.returncode == 0 else f"failed: {ran.stderr}"


told = {
    "read": sorted(set(find_read())),
    "written": sorted(find_written()),
    "reached": sorted(find_reached()),
    "allowed": sorted(find_allowed()),
    "touched": sorted(find_touched()),
    "met": sorted(find_met()),
    "seen": sorted(find_seen()),
    "git": list(ask_git()),
    "unix": "",
}
send_datagrams()
try:
    socket.socket(socket.AF_UNIX).close()
    told["unix"] = "allowed"
except OSError:
    told["unix"] = "refused"
sys.stdin.close()
print("a.py:1: SPIED " + json.dumps(told).encode().hex(), flush=True)
sys.exit(1)
