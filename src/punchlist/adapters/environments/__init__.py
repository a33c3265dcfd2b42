"""Python environments of a project: found on the machine, or made from what its files name."""
