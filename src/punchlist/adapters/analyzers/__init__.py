"""Analyzers behind the Analyzer port: registry, detection and settings."""
