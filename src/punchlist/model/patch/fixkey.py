"""A fix's own name, which survives moved lines: what it takes out and what it puts in."""

from hashlib import blake2b

from punchlist.model.finding.finding import Fix


def fix_key(fix: Fix) -> str:
    parts = sorted(
        f"{splice.path}\0{splice.end - splice.start}\0{splice.text}" for splice in fix.splices
    )
    return blake2b("\1".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
