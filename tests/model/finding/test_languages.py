"""Which files are programs, and for which of them a tool's own rules are."""

import pytest

from punchlist.model.finding.languages import find_language, find_rule_languages


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("src/App.TSX", "", "TypeScript"),
        ("a/b/query.sql", "", "SQL"),
        ("docker/Dockerfile.dev", "", "Dockerfile"),
        ("bin/tool", "#!/usr/bin/env -S python3 -u\n", "Python"),
        ("bin/tool", "#!/usr/local/bin/bash\n", "shell"),
        ("bin/tool", "#! /usr/bin/crystal run\n", "crystal"),
        *(
            (path, "", "")
            for path in (
                "README.md",
                "Makefile",
                "LICENSE",
                ".gitignore",
                "a.json",
                "py.typed",
                "x.png",
            )
        ),
    ],
)
def test_programs_are_known_by_name_suffix_or_first_line(path, text, language):
    assert find_language(path, text) == language


@pytest.mark.parametrize(
    ("rules", "languages"),
    [
        (
            "id: a\nlanguage: python\nrule: {pattern: x}\n---\nid: b\nlanguage: Tsx\n",
            {"Python", "TypeScript"},
        ),
        ("rules:\n  - id: a\n    languages: [go, csharp]\n", {"Go", "C#"}),
        (
            "rules:\n  - id: a\n    languages:\n      - js\n      - bash\n    message: x\n",
            {"JavaScript", "shell"},
        ),
        ("rules:\n  - languages: [generic]\n", None),
        ("rules: []\n", set()),
    ],
)
def test_rules_say_which_languages_they_are_for(rules, languages):
    assert find_rule_languages(rules) == languages
