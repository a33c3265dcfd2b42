"""The dashboard: pages rendered on the server. `router` has all routes."""
