"""Every setting that this git knows, each naming a program that leaves a mark; written as a repository's own configuration."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

EVIL = "evil"
NAMES = {
    "<name>": ("origin", "main", EVIL),
    "<remote>": ("origin", EVIL),
    "<url>": ("https://example.org", "/"),
    "<base>": ("ssh://evil/",),
    "*": (EVIL, "status", "review"),
}
"""What stands for a name in the families of settings; any other is the name of a driver."""
MORE = """
    filter.evil.process filter.evil.clean filter.evil.smudge filter.lfs.process diff.evil.textconv
    diff.evil.command merge.evil.driver remote.origin.vcs remote.origin.uploadpack
    remote.origin.receivepack remote.origin.proxy remote.origin.promisor remote.evil.promisor
    submodule.evil.update submodule.evil.url trailer.evil.cmd trailer.evil.command credential.helper
    credential.https://example.org.helper core.gitProxy core.sshCommand core.fsmonitor core.pager
    core.editor core.askPass core.alternateRefsCommand sequence.editor gpg.program gpg.ssh.program
    gpg.x509.program gpg.ssh.defaultKeyCommand uploadpack.packObjectsHook http.proxy
    http.cookieFile http.sslKey http.sslCert pager.status pager.log pager.diff alias.fetch
    alias.status alias.merge interactive.diffFilter difftool.evil.cmd mergetool.evil.cmd
    browser.evil.cmd man.evil.cmd guitool.evil.cmd sendemail.smtpServer sendemail.toCmd
    imap.tunnel lfs.customtransfer.evil.path lfs.extension.evil.clean extensions.partialClone
    fetch.bundleURI bundle.evil.uri maintenance.evil.command hook.evil.command hook.evil.event
    core.hooksPath receive.procReceiveRefs tar.evil.command instaweb.httpd web.browser
    init.templateDir include.path
""".split()
FIXED = {
    "commit.gpgSign": "true",
    "merge.verifySignatures": "true",
    "log.showSignature": "true",
    "submodule.recurse": "true",
    "fetch.recurseSubmodules": "true",
    "push.recurseSubmodules": "on-demand",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "diff.external": "",
    "url.ssh://evil/.insteadOf": "/",
    "url.ssh://evil/.pushInsteadOf": "/",
    "url.ext::.insteadOf": "file://",
    "remote.origin.promisor": "true",
    "gc.auto": "1",
    "maintenance.auto": "true",
    "core.untrackedCache": "true",
    "core.splitIndex": "false",
    "core.sharedRepository": "umask",
    "status.showUntrackedFiles": "normal",
    "index.version": "2",
    "index.sparse": "false",
    "index.threads": "1",
    "index.skipHash": "false",
    "feature.manyFiles": "false",
    "receive.denyCurrentBranch": "refuse",
    "receive.denyDeletes": "false",
    "receive.denyDeleteCurrent": "false",
    "receive.denyNonFastForwards": "false",
    "receive.fsckObjects": "false",
    "receive.maxInputSize": "0",
    "uploadpack.allowAnySHA1InWant": "true",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowReachableSHA1InWant": "true",
    "uploadpack.allowRefInWant": "true",
    "uploadpack.allowTipSHA1InWant": "true",
}
"""Settings by which others come to be used, and those that are passed on and no text; '' is a program."""
HOOKS = """
    applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit
    post-index-change post-merge post-receive post-rewrite post-update pre-applypatch pre-auto-gc
    pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg proc-receive
    push-to-checkout reference-transaction sendemail-validate update
""".split()


class Programs:
    """Programs that leave a mark each. `marks` names those that were started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "programs"
        self.folder.mkdir()
        self.marks_folder = folder / "marks"
        self.marks_folder.mkdir()
        self.marks_folder.chmod(0o777)

    def make(self, name: str) -> Path:
        safe = re.sub(r"[^\w.-]", "_", name)
        program = self.folder / safe
        program.write_text(f"#!/bin/sh\ntouch '{self.marks_folder / safe}'\nexit 0\n")
        program.chmod(0o755)
        return program

    @property
    def marks(self) -> list[str]:
        return sorted(each.name for each in self.marks_folder.iterdir())

    def forget(self) -> None:
        for each in self.marks_folder.iterdir():
            each.unlink()


def list_keys() -> list[str]:
    """Return the name of every setting of this git, with names in place of placeholders."""
    printed = subprocess.run(
        ["git", "help", "--config"], capture_output=True, text=True, check=True
    ).stdout
    known = [line for line in printed.splitlines() if re.fullmatch(r"[\w-]+\..+", line)]
    assert len(known) > 500
    return sorted({key for each in (*known, *MORE) for key in _name_all(each)})


def _name_all(key: str) -> Iterator[str]:
    found = re.search(r"<[^>]+>|\*", key)
    if not found:
        yield key
        return
    for name in NAMES.get(found[0], (EVIL,)):
        yield from _name_all(f"{key[: found.start()]}{name}{key[found.end() :]}")


def write_settings(settings: Iterable[tuple[str, str]]) -> str:
    """Return the text of a configuration file."""
    lines = []
    for full, value in settings:
        section, _, rest = full.partition(".")
        name, dot, key = rest.rpartition(".")
        header = f'[{section} "{name}"]' if dot else f"[{section}]"
        lines.append(f'{header}\n\t{key} = "{value}"\n')
    return "".join(lines)


def find_refused(root: Path, settings: dict[str, str]) -> dict[str, str]:
    """Return the settings with which git does not read the repository as before: it refuses every
    command then, also punchlist's first.
    """
    config = root / ".git/config"
    before = config.read_text()

    def ask(more: dict[str, str]) -> tuple[bytes, bytes]:
        config.write_text(before + write_settings(more.items()))
        asked = ["rev-parse", "--show-toplevel", "--git-common-dir", "--is-inside-work-tree"]
        ran = subprocess.run(["git", *asked], cwd=root, capture_output=True, check=False)
        return ran.stdout, ran.stderr

    def find(some: dict[str, str]) -> dict[str, str]:
        if ask(some) == plain:
            return {}
        if len(some) == 1:
            return some
        keys = list(some)
        halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
        first, second = (find({key: some[key] for key in half}) for half in halves)
        return first | second

    plain = ask({})
    refused = find(settings)
    config.write_text(before)
    return refused
