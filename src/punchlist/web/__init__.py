"""The HTTP surface: calls the use cases of `app`, owns no rule; server packages
are imported late.
"""
