"""The commands: one module each, with a click command called `command`."""
