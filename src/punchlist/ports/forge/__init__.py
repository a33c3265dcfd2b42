"""The port to forges: GitHub and its kind."""
