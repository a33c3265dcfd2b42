"""Trackers where unresolved items are filed."""
