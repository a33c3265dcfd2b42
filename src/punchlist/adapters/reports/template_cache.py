"""Keep compiled templates beside the bytecode of modules: to compile one takes long."""

import os
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import __version__ as jinja_version
from jinja2.bccache import Bucket, BytecodeCache


class CompiledTemplates(BytecodeCache):
    """Bytecode of the templates of a folder, in the `__pycache__` of that folder. It is used only
    for the very text, environment, jinja and Python that it was compiled with.
    """

    def __init__(self, folder: Path, environment: bytes) -> None:
        """`environment`: the source of what makes the environment; it decides what is compiled."""
        self._folder = folder
        self._environment = jinja_version.encode() + environment

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        return name

    def get_source_checksum(self, source: str) -> str:
        return sha256(self._environment + source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        # Python may keep no bytecode at all; a damaged file is compiled anew.
        with (
            suppress(
                OSError, NotImplementedError, EOFError, ValueError, TypeError, UnpicklingError
            ),
            self._find_file(bucket).open("rb") as file,
        ):
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError, NotImplementedError):  # the package may be read-only
            file = self._find_file(bucket)
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_name(f"{file.name}.{os.getpid()}")
            part.write_bytes(bucket.bytecode_to_string())
            part.replace(file)

    def _find_file(self, bucket: Bucket) -> Path:
        return Path(cache_from_source(str(self._folder / f"{bucket.key}.py")))
