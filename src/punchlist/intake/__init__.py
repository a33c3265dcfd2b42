"""Parse findings from reports of any format."""
