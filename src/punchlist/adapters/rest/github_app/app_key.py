"""The id of a GitHub App and its private key, as the user's settings name them."""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.git.command import escape_path
from punchlist.adapters.process.run import named_environment
from punchlist.adapters.rest.retry import Unavailable
from punchlist.installed import extra_hint

VARIABLE = "GITHUB_APP_KEY"
"""The environment variable that holds the key, unless the settings name another."""
_ISSUER = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LONGEST = 64 * 1024
_OPENING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""A pipe or a device is not waited for."""
_DRIFT = 60
"""Seconds that the clocks may differ by: a token begins so long ago, as GitHub asks for."""
_LASTS = 540
"""GitHub takes at most ten minutes."""
_UNLOCK = "take the password off: openssl rsa -in KEY -out NEW, then chmod 600 NEW"
_ANEW = "make one in the settings of the App, below Private keys"


class AppKey(Struct, frozen=True, kw_only=True):
    """`issuer` is the App's id or client id. The key is in the `file`, else in the environment
    `variable`; it is read each time that it is used, and not kept. `checkout`: the code under
    review, in which no key may be.
    """

    issuer: str
    file: str = ""
    variable: str = VARIABLE
    checkout: Path | None = None

    @property
    def source(self) -> str:
        """Where the key is, in words for messages."""
        return escape_path(self.file) if self.file else f"the variable {self.variable}"

    def sign_jwt(self, now: float) -> str:
        """Return a JSON Web Token, by which GitHub knows the App for ten minutes. Raise
        Unavailable, which says what to do.
        """
        if not _ISSUER.fullmatch(self.issuer):
            why = "track.app: it is neither the id nor the client id of a GitHub App"
            raise Unavailable(why, hint="such as 123456; it is in the settings of the App")
        claims = {"iat": int(now) - _DRIFT, "exp": int(now) + _LASTS, "iss": self.issuer}
        try:
            # An extra, and slow to load: only what signs imports it.
            from punchlist.adapters.formats.private_key import ENCRYPTED, KeyUnusable, sign_jwt
        except ImportError as error:
            why = f"track.app: a GitHub App needs the extra `forges` ({error})"
            raise Unavailable(why, hint=extra_hint("forges")) from error
        try:
            return sign_jwt(self._read_text(), claims)
        except KeyUnusable as unusable:
            hint = _UNLOCK if str(unusable) == ENCRYPTED else _ANEW
            raise Unavailable(f"the App's key: {self.source} {unusable}", hint=hint) from None

    def _read_text(self) -> bytes:
        """Return the PEM text. Files with variables often write the ends of lines as `\\n`."""
        text = self._read_file() if self.file else self._read_variable().encode()
        return text.replace(b"\\n", b"\n")

    def _read_variable(self) -> str:
        text = named_environment([self.variable]).get(self.variable, "")
        if not text.strip():
            why = f"there is no key of the GitHub App {self.issuer}: {self.variable} is not set"
            hint = "name the file that holds it in track.app-key-file"
            raise Unavailable(why, hint=hint)
        return text

    def _read_file(self) -> bytes:
        path = Path(self.file).expanduser()
        what = f"the App's key: {self.source}"
        if not path.is_absolute():
            raise Unavailable(f"{what} is no whole path", hint="set track.app-key-file to one")
        if self.checkout is not None and _lies_in(path, self.checkout):
            why = f"{what} lies in the repository under review, whose checks could read it"
            raise Unavailable(why, hint="move it elsewhere, such as ~/.config/punchlist")
        try:
            opened = os.open(path, _OPENING)
            try:
                self._check_file(os.fstat(opened), what)
                return os.read(opened, _LONGEST)
            finally:
                os.close(opened)
        except OSError as error:
            hint = "look at track.app-key-file"
            raise Unavailable(f"{what}: {error.strerror}", hint=hint) from error

    def _check_file(self, found: os.stat_result, what: str) -> None:
        """Refuse a file that others can read, as ssh does: of another owner, its group may."""
        if not stat.S_ISREG(found.st_mode):
            raise Unavailable(f"{what} is no file", hint="look at track.app-key-file")
        forbidden = 0o077 if found.st_uid == os.getuid() else 0o007
        if found.st_mode & forbidden:
            why = f"{what} can be read by other users (mode {stat.S_IMODE(found.st_mode):04o})"
            raise Unavailable(why, hint=f"chmod 600 {self.source}")


def _lies_in(path: Path, folder: Path) -> bool:
    with suppress(OSError):
        return resolve_path(path).is_relative_to(resolve_path(folder))
    return False
