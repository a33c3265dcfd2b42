"""File formats that punchlist reads and writes."""
