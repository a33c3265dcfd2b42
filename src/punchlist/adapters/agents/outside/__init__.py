"""Agents that punchlist does not start: they fetch tasks from the run's mailbox."""
