"""Egress proxy: the only way out for a child whose network namespace has loopback only."""
