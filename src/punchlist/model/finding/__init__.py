"""Findings, their locations, paths and severities."""
