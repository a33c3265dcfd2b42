"""The web server: HTTP API, event streams, dashboard, and a client of the API."""
