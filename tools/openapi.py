"""Writes docs/reference/openapi.json from the routes; with --check it only says whether it is
stale.
"""

import json
import sys
from pathlib import Path

from punchlist.web.application import load_openapi

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "openapi.json"


def text() -> str:
    return json.dumps(load_openapi(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    made = text()
    stale = not FILE.exists() or FILE.read_text("utf-8") != made
    if stale and "--check" in sys.argv[1:]:
        print(f"{FILE.name} is stale: make reference")
        return 1
    if stale:
        FILE.write_text(made, "utf-8")
        print(f"wrote {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
