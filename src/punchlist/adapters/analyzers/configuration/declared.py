"""What an analyzer declares about its configuration files."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct


class ConfigurationKeys(Struct, frozen=True, kw_only=True):
    """Keys are dotted and count from the file's table; `*` is any one part."""

    files: Mapping[str, str] = MappingProxyType({})
    """By the name of each configuration file that is data: the table that is the tool's."""
    programs: tuple[str, ...] = ()
    """Patterns of configuration files that are programs, or may load some."""
    code: tuple[str, ...] = ()
    """Keys that name code to load: Python modules and files, or packages and files of Node.js."""
    named: tuple[str, ...] = ()
    """Keys that name other configuration files."""
    reads: tuple[str, ...] = ()
    """Keys that name files and folders to read: they must not lead out of the tree."""
    forbidden: tuple[str, ...] = ()
    """Keys that make it write files."""
    harmless: tuple[str, ...] = ()
    """Starts of values that are part of the tool itself, such as `eslint:`."""
    anywhere: bool = True
    """Whether it reads configuration files in any folder, not only at the root."""
