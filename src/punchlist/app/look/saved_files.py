"""Tell whether files of a checkout were saved since."""

import os
from hashlib import sha256

from punchlist.app.session import Session


async def stamp_files(session: Session) -> str:
    """Return what changes when a file that git does not ignore is saved, staged or committed."""
    checkout = session.required_checkout
    flags = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    lines = await checkout.user_git.list_fields("status", *flags, "--ignore-submodules=all")
    marks = [checkout.head, *lines]
    for line in lines:
        try:
            found = os.lstat(checkout.root / line[3:])
        except OSError:
            continue
        marks.append(f"{found.st_mtime_ns} {found.st_size} {found.st_ino}")
    return sha256("\0".join(marks).encode(errors="surrogateescape")).hexdigest()
