"""Issues on GitHub, by its REST API."""
