"""One module per analyzer: its command, and the parser of its report."""
