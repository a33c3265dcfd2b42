"""What a child process may read, write, reach and use up, and how that is enforced."""
