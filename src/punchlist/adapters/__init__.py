"""Everything that touches the outside, each behind a port."""
