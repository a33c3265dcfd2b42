"""Replay the calls that tests make, outside of the test runner."""
