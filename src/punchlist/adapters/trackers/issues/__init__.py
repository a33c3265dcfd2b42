"""Issues on any forge: one per item, found again by its fingerprint."""
