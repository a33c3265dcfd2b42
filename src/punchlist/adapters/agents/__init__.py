"""Coding agents behind the Agent port: dialects of their programs, retry and journal."""
