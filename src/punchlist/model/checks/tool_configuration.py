"""What the configuration of an analyzer, as the base has it, makes it read and run."""

from msgspec import Struct


class ToolConfiguration(Struct, frozen=True, kw_only=True, omit_defaults=True):
    analyzer: str
    named: tuple[str, ...] = ()
    """Patterns of the files that it names: they come from the base, too."""
    code: tuple[str, ...] = ()
    """What makes it run code of the repository or of plug-ins, each in a few words."""
    files: tuple[str, ...] = ()
    """Files of that code which are loaded from a folder of their own, with the base's text."""
    refused: str = ""
    """Why the analyzer is not run, whatever is allowed."""
    fingerprint: str = ""
    """Hash of the configuration and of the code: the user allows exactly this text."""
    allowed: bool = False

    @property
    def obstacle(self) -> str:
        """Return why the analyzer may not run, or ''."""
        if self.refused:
            return self.refused
        if self.code and not self.allowed:
            why = "would run code that the repository names, and that was not allowed"
            return f"{self.code[0]} {why}; `punchlist allow` or --yes"
        return ""
