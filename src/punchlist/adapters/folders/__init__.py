"""Folders that a repository, a child or an agent shaped: walk, delete and make them."""
