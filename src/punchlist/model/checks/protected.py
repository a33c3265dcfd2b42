"""Protected files: tests, checks and their configuration."""

import re
from functools import lru_cache

from msgspec import Struct

CONFIGURATION = tuple(
    """
        conftest.py pytest.ini tox.ini noxfile.py setup.cfg setup.py pyproject.toml Makefile
        makefile GNUmakefile .pre-commit-config.yaml .coveragerc .flake8 .pylintrc pylintrc
        package.json .npmrc tsconfig*.json jest.config.* vitest.config.* vite.config.*
        babel.config.* Cargo.toml build.rs clippy.toml go.mod
        sitecustomize.py usercustomize.py *.lock package-lock.json pnpm-lock.yaml go.sum
        requirements*.txt constraints*.txt .github/** .gitlab-ci.yml .circleci/** .gitea/**
        azure-pipelines.yml Jenkinsfile .punchlist.toml .punchlist/** .pytest.ini pytest.toml
        .pytest.toml tox.toml .mocharc.* .cargo/** go.work *.egg-info/** *.dist-info/** /pytest.py
        /pytest/** /_pytest/** /unittest.py /unittest/** /src/pytest.py /src/pytest/**
        /src/_pytest/** /src/unittest.py /src/unittest/**
    """.split()
)
"""Without what analyzers declare themselves. The last two lines are modules that Python would take
for the runner itself; the line above them ends with what registers plugins with it.
"""
_LOOKED_AT = frozenset(
    """
        conftest.py pytest.ini noxfile.py setup.py Makefile makefile GNUmakefile .coveragerc
        jest.config.* vitest.config.* vite.config.* build.rs sitecustomize.py usercustomize.py
        .github/** .gitlab-ci.yml .circleci/** .gitea/** azure-pipelines.yml Jenkinsfile
        .pre-commit-config.yaml .pytest.ini pytest.toml .pytest.toml /pytest.py /pytest/**
        /_pytest/** /unittest.py /unittest/** /src/pytest.py /src/pytest/** /src/_pytest/**
        /src/unittest.py /src/unittest/**
    """.split()
)
"""Configuration that steers checks, but is code to analyzers: they must see it as it is under
review.
"""
TESTS = tuple(
    """
        tests/** test/** testing/** __tests__/** spec/** test_*.py *_test.py tests.py *_test.go
        *.test.* *.spec.*
    """.split()
)

STEERS_AGENTS = tuple(
    """
        AGENTS.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md .claude/** .mcp.json .codex/**
        .gemini/** .qwen/** .opencode/** opencode.json opencode.jsonc .aider* .cursor/**
        .cursorrules .windsurfrules .github/copilot-instructions.md
    """.split()
)
"""Files that coding agents take orders from: a change under review must not give any to those who
judge it.
"""


class Protected(Struct, frozen=True):
    """Patterns: with a slash they match below any folder, without one the file's name. `**` crosses
    folders; a leading slash anchors a pattern at the root.
    """

    configuration: tuple[str, ...] = CONFIGURATION
    tests: tuple[str, ...] = TESTS

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.configuration, *self.tests)

    @property
    def steering(self) -> tuple[str, ...]:
        """Configuration that analyzers read."""
        return tuple(pattern for pattern in self.configuration if pattern not in _LOOKED_AT)

    def holds(self, path: str) -> bool:
        return matches_any(path, self.all)


def matches_any(path: str, patterns: tuple[str, ...]) -> bool:
    return bool(patterns) and _compile_patterns(patterns).search(path) is not None


@lru_cache(maxsize=32)
def _compile_patterns(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        "|".join(
            rf"{_start_regex(pattern)}{_translate_pattern(pattern)}\Z" for pattern in patterns
        ),
        re.DOTALL,
    )


def _start_regex(pattern: str) -> str:
    return r"\A" if pattern.startswith("/") else r"(?:\A|/)"


def _translate_pattern(pattern: str) -> str:
    out = ""
    for part in re.split(r"(\*\*/?|\*|\?)", pattern.strip("/")):
        match part:
            case "**" | "**/":
                out += ".*"
            case "*":
                out += "[^/]*"
            case "?":
                out += "[^/]"
            case _:
                out += re.escape(part)
    return out
