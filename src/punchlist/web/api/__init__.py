"""The HTTP API: routes, schemas and errors."""
