"""Read models of tables: the items of a run in groups, and a repository's runs over time."""
