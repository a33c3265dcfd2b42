"""Write what the built-in workflows say, parsed, beside them: commands then import no parser of YAML."""

import json

import yaml

from punchlist.workflow.loader import PARSED, hash_text


def parse_all() -> dict[str, object]:
    texts = [file.read_text("utf-8") for file in sorted(PARSED.parent.glob("*.yaml"))]
    return {hash_text(text): yaml.safe_load(text) for text in texts}


if __name__ == "__main__":
    PARSED.write_text(json.dumps(parse_all(), indent=1) + "\n", "utf-8")
