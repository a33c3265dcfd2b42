"""What tests take from the machine: the programs and variables that are named here, and nothing else.

This module needs no package.
"""

import os
import re
import resource
import shutil
import signal
import sys
from pathlib import Path

ENVIRONMENT = dict(os.environ)
"""What the session was started with; tests themselves run with `CLEAN`."""
HOME = Path.home()

PROGRAMS = """
    sh bash env git git-upload-pack git-receive-pack make openssl tar gzip sed grep egrep awk find xargs diff cmp which hostname
    bwrap setpriv setsid unshare flock mount umount ps kill getconf locale tty stty curl
    chromium chromium-headless-shell chromium-browser initdb
    [ base64 basename cat chmod chown cp cut date dd df dirname du echo expr false head id install
    ln ls md5sum mkdir mkfifo mktemp mv nice nohup nproc od paste printenv printf pwd readlink
    realpath rm rmdir seq sha256sum sleep sort split stat sync tail tee test timeout touch tr true
    truncate uname uniq wc whoami yes
""".split()
"""The programs that tests find on PATH, beside python and python3. A test that needs another one
asks for it with the fixture `on_path`.
"""

CLEAN = {"LANG": "C.UTF-8", "TZ": "UTC"}
"""The same for all tests on every machine; fixtures add a home and who commits."""
_KEPT = re.compile("TMPDIR|SSL_CERT_FILE|SSL_CERT_DIR|LD_LIBRARY_PATH")
"""Without these, programs do not find what they need on some machines."""
_REGISTRIES = re.compile(
    "(PIP|UV|NPM_CONFIG|npm_config)_.+|(https?|all|no)_proxy|(HTTPS?|ALL|NO)_PROXY"
    "|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
)
_FILES = 4096
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def find_program(name: str) -> str | None:
    """Return the machine's program; one behind a version manager's script only if there is no other."""
    folders = ENVIRONMENT.get("PATH", os.defpath).split(os.pathsep)
    places = [folder for folder in folders if folder.startswith("/")]
    places.sort(key=lambda folder: Path(folder).name == "shims")
    return shutil.which(name, path=os.pathsep.join([*places, "/usr/sbin", "/sbin"]))


def registry_settings() -> dict[str, str]:
    """Return what the machine says about the registries of packages, and how they are reached."""
    return {name: value for name, value in ENVIRONMENT.items() if _REGISTRIES.fullmatch(name)}


def find_repository(folder: Path) -> Path | None:
    """Return the repository that the folder lies in: programs would take tests' folders for parts of it."""
    return next((each for each in folder.resolve().parents if (each / ".git").exists()), None)


def leave_machine(folder: Path) -> None:
    """Make this process, and what it starts, independent of how it was started itself.

    PATH and HOME become new folders in `folder`.
    """
    (folder / "home").mkdir()
    kept = {name: value for name, value in ENVIRONMENT.items() if _KEPT.fullmatch(name)}
    own = {"HOME": str(folder / "home"), "PATH": str(_make_programs(folder / "programs"))}
    os.environ.clear()
    os.environ.update({**CLEAN, **kept, **own})
    os.umask(0o022)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, most % (1 << 63)), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for number in _SIGNALS:  # nohup and background jobs ignore some, and so would all children
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _make_programs(folder: Path) -> Path:
    """Make a folder of links to programs, and return it. The environment of its python is one
    without packages, whatever the machine's has.
    """
    programs = folder / "bin"
    programs.mkdir(parents=True)
    for name in PROGRAMS:
        link_program(name, programs)
    python = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    for name in ("python", "python3"):
        (programs / name).symlink_to(python)
    major, minor, micro, *_ = sys.version_info
    (folder / "lib" / f"python{major}.{minor}" / "site-packages").mkdir(parents=True)
    about = {
        "home": Path(python).parent,
        "include-system-site-packages": "false",
        "version": f"{major}.{minor}.{micro}",
        "executable": python,
    }
    text = "".join(f"{name} = {value}\n" for name, value in about.items())
    (folder / "pyvenv.cfg").write_text(text)
    return programs


def link_program(name: str, folder: Path) -> bool:
    """Link the machine's program into the folder; return whether there is one."""
    found = find_program(name)
    if found:
        (folder / name).symlink_to(found)
    return bool(found)
