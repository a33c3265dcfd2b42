"""A fleet: queue runs, and drive them in workers."""
