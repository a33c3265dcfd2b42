"""Who is at the keyboard, as far as the system knows."""

from getpass import getuser


def login() -> str:
    try:
        return getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return "a person"
