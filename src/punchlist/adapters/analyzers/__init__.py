"""Analyzers behind one port."""
