"""Child processes: run with a deadline, sandboxed, ended with all their descendants."""
