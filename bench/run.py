"""Runs the benches that take a minute or two, and says how to run the others.

python bench/run.py [FOLDER...]      folders of Python code: identity is measured on them, too
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
QUICK = {"startup.py": (), "engine.py": (), "consolidate.py": ("--most", "10000")}
LONG = {
    "review.py --before COMMIT PROJECT.tar.gz...": "a review of what is staged, over an earlier commit",
    "consolidate.py": "up to 100,000 findings",
    "identity.py FOLDER...": "identity across edits; needs ruff on PATH and Python code",
    "duplicates.py analyzers FOLDER...": "duplicates among ruff, pylint, flake8 and bandit (those on PATH)",
    "duplicates.py comments PATH": "duplicates among labelled comments of review tools",
    "lies/run.py --sample": "lying fixers on seeded bugs",
    "fleet/measure.py": "queue, recovery and scaling of workers on a real PostgreSQL; ten minutes",
    "scheduling.py": "agents side by side, over what no schedule can beat; ten minutes",
    "dashboard.py": "first paint and board of 10,000 items in Chromium, over an empty page; two minutes",
    "canaries.py --agent NAME": "how often a challenger is wrong; costs twelve calls",
    "projects.py --python VENV/bin/python PROJECT.tar.gz...": "real projects with their own tests; minutes each",
    "first_contact.py --seed N": "projects never used here, over ruff and bisecting by hand; an hour",
}


def shown(name, *arguments):
    print(f"\n== {name} {' '.join(arguments)}".rstrip() + "\n", flush=True)
    # Tools that were installed beside this interpreter are found first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return subprocess.run(
        [sys.executable, HERE / name, *arguments], env={**os.environ, "PATH": path}, check=False
    ).returncode


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*")
    folders = parser.parse_args().folders
    failed = [name for name, arguments in QUICK.items() if shown(name, *arguments)]
    if folders and shown("identity.py", *folders):
        failed.append("identity.py")
    print("\nNot run here:")
    for command, about in LONG.items():
        print(f"  python bench/{command:<58} {about}")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
