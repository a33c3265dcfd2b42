"""What is raised when stdout takes nothing more; it has a module of its own because both ends of
the command line need it.
"""


class Unread(Exception):
    """The reader of our output went away, or there is no room for it; the message is empty where a
    person need not know.
    """
