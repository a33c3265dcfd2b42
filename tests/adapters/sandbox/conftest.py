"""Tests of sandboxes have their folders on the disk: a sandbox has a /dev of its own."""

from folders import tmp_path_factory

__all__ = ["tmp_path_factory"]
