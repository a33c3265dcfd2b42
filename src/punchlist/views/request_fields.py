"""Types of request fields that the HTTP API and the MCP tools share."""

from typing import Annotated

from msgspec import Meta

RUN_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
Revision = Annotated[str, Meta(pattern=r"^([A-Za-z0-9@][A-Za-z0-9@._/^~+-]{0,199})?$")]
Below = Annotated[str, Meta(pattern=r"^[^/\\\x00-\x1f][^\\\x00-\x1f]*$", max_length=500)]
"""A path inside of a repository."""
Folder = Annotated[str, Meta(pattern=r"^([^/\\\x00-\x1f][^\\\x00-\x1f]*)?$", max_length=500)]
"""As `Below`, or empty."""
Label = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=200)]
"""A line of text."""
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
Number = Annotated[int, Meta(ge=1, le=10**9)]
