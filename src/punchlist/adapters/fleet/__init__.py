"""What a worker has of a repository: its own mirror, and the place where all workers meet."""
