"""Regular expressions that are compiled when they are first used.

A short command uses few of the patterns in the modules that it imports.
"""

import re
from typing import Any, AnyStr, Generic, cast


class _LatePattern(Generic[AnyStr]):
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern, and keep what was asked for as an attribute of this object."""
        value = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, value)
        return value


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled when its first method is called. Only its own methods and
    attributes work: functions of `re` do not take it.
    """
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))
