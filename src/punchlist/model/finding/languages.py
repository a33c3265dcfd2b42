"""Programming languages of files, by suffix, name or first line; prose, data and configuration have
none.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec import Struct

from punchlist.model.finding.late_pattern import late_pattern

_SUFFIXES = {
    "Python": "py pyi pyw pyx pxd ipynb",
    "JavaScript": "js jsx mjs cjs",
    "TypeScript": "ts tsx mts cts",
    "Vue": "vue",
    "Svelte": "svelte",
    "Astro": "astro",
    "CoffeeScript": "coffee",
    "HTML": "html htm xhtml",
    "CSS": "css scss sass less",
    "shell": "sh bash dash ksh zsh fish bats",
    "PowerShell": "ps1 psm1",
    "batch": "bat cmd",
    "C": "c h",
    "C++": "cc cpp cxx hh hpp hxx ipp cu",
    "C#": "cs csx",
    "F#": "fs fsx",
    "Visual Basic": "vb vbs bas",
    "Objective-C": "m mm",
    "Go": "go",
    "Rust": "rs",
    "Zig": "zig",
    "Nim": "nim",
    "D": "d",
    "Java": "java jsp",
    "Kotlin": "kt kts",
    "Scala": "scala sc sbt",
    "Groovy": "groovy gradle",
    "Clojure": "clj cljs cljc",
    "Swift": "swift",
    "Dart": "dart",
    "Ruby": "rb rake erb gemspec",
    "PHP": "php phtml",
    "Perl": "pl pm t",
    "Lua": "lua",
    "Tcl": "tcl",
    "R": "r rmd",
    "Julia": "jl",
    "Fortran": "f f90 f95 f03 for",
    "COBOL": "cob cbl",
    "Pascal": "pas pp",
    "Ada": "adb ads",
    "Assembler": "s asm",
    "Haskell": "hs lhs",
    "OCaml": "ml mli",
    "Elm": "elm",
    "Erlang": "erl hrl",
    "Elixir": "ex exs",
    "Lisp": "lisp el scm rkt",
    "Prolog": "pro",
    "SQL": "sql",
    "GraphQL": "graphql gql",
    "Protocol Buffers": "proto",
    "Terraform": "tf hcl",
    "Nix": "nix",
    "Solidity": "sol",
    "Verilog": "v sv",
    "VHDL": "vhd vhdl",
    "GLSL": "glsl vert frag",
    "WebAssembly": "wat",
    "AWK": "awk",
}
_BY_SUFFIX = {f".{end}": name for name, ends in _SUFFIXES.items() for end in ends.split()}
_BY_NAME = {
    "dockerfile": "Dockerfile",
    "containerfile": "Dockerfile",
    "jenkinsfile": "Groovy",
    "rakefile": "Ruby",
    "gemfile": "Ruby",
    "vagrantfile": "Ruby",
}
_SHEBANG = late_pattern(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z]+)")
_BY_INTERPRETER = {
    **dict.fromkeys(("python", "pypy"), "Python"),
    **dict.fromkeys(("node", "deno", "bun"), "JavaScript"),
    **dict.fromkeys(("sh", "bash", "dash", "ksh", "zsh", "ash", "fish"), "shell"),
    "ruby": "Ruby",
    "perl": "Perl",
    "php": "PHP",
    "lua": "Lua",
    "tclsh": "Tcl",
    "pwsh": "PowerShell",
    "Rscript": "R",
    "awk": "AWK",
    "gawk": "AWK",
    "groovy": "Groovy",
}
_BY_WORD = {
    **{name.lower(): name for name in (*_SUFFIXES, *_BY_NAME.values())},
    "csharp": "C#",
    "golang": "Go",
    "fsharp": "F#",
    "docker": "Dockerfile",
}
_ANY = frozenset({"generic", "regex"})
_RULE_LANGUAGES = late_pattern(
    r"^[\s-]*[\"']?languages?[\"']?:[ \t]*(\[[^\]]*\]|(?:\n\s*-\s*\S+)+|\S+)", re.MULTILINE
)
MARKUP = frozenset(("HTML", "CSS"))
"""Languages of documents rather than programs."""

ANALYZED_BY: Mapping[str, str] = {
    "Python": "ruff",
    "JavaScript": "eslint or biome",
    "TypeScript": "eslint or biome",
    "Vue": "eslint",
    "Svelte": "eslint",
    "Astro": "eslint",
    "CSS": "biome",
    "GraphQL": "biome",
    "shell": "shellcheck",
}
"""By language: analyzers that punchlist knows."""


class UnseenFiles(Struct, frozen=True, omit_defaults=True):
    """Files of one language that no reviewer looked at; `paths` has the first of them."""

    language: str
    count: int
    paths: tuple[str, ...] = ()


class MissedFiles(Struct, frozen=True, omit_defaults=True):
    """Files that one analyzer did not look at, for one reason; `paths` has the first of them."""

    reviewer: str
    why: str
    count: int
    paths: tuple[str, ...] = ()


def find_language(path: str, text: str = "") -> str:
    """Return the programming language of a file, or "" if it is none; `text`: how it begins."""
    pure = PurePosixPath(path)
    name = pure.name.lower()
    known = _BY_NAME.get(name.split(".")[0]) or _BY_SUFFIX.get(pure.suffix.lower())
    if known or pure.suffix:
        return known or ""
    found = _SHEBANG.match(text)
    if found is None:
        return ""
    return _BY_INTERPRETER.get(found[1], found[1])


def find_named_language(word: str) -> str:
    """Return the language that a word names in any case, or ''."""
    return _BY_WORD.get(word.lower(), "")


def find_rule_languages(rules: str) -> frozenset[str] | None:
    """Return the languages that rules in YAML or JSON name, or None if they are for any text."""
    named = " ".join(_RULE_LANGUAGES.findall(rules)).lower()
    words = re.findall(r"[\w#+]+", named)
    if _ANY.intersection(words):
        return None
    return frozenset(_BY_WORD.get(word) or find_language(f"x.{word}") for word in words)
