"""Files with names and contents nobody planned for: reviewed where that can be, fixed without a byte too many, never lost."""

import os
import time

import pytest
from hostile_ground import notes, untouched

from needs import rarely

BAD = "import os\n\nprint(1)\n"
GOOD = "\nprint(1)\n"


def fixed(repo, ground, path="a.py") -> bytes:
    """What a whole run and `apply` make of the file."""
    told = ground.review()
    assert told.code == 0, told.stdout + told.stderr
    assert ground.sound()["fixed"] == 1
    applied = ground("apply")
    assert applied.code == 0, applied.stderr
    assert repo.git("status", "--porcelain") == ""
    return (repo.root / path).read_bytes()


def test_links_are_never_followed(repo, ground, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(BAD)
    repo.write("a.py", BAD)
    links = {
        "folder": outside,
        "loop": "loop",
        "one": "two",
        "two": "one",
        "linked.py": outside / "secret.py",
        "inner.py": "a.py",
    }
    for name, target in links.items():
        (repo.root / name).symlink_to(target)
    (repo.root / "deep").mkdir()
    (repo.root / "deep" / "up").symlink_to("..")
    repo.commit()
    before = untouched(repo.root)
    told = ground.review()
    assert told.code == 0, told.stdout + told.stderr
    assert {item["path"] for item in ground.items()} == {"a.py"}
    assert "links are not followed" in notes(told)
    assert untouched(repo.root) == before
    assert (outside / "secret.py").read_text() == BAD
    assert ground("apply").code == 0
    assert (repo.root / "a.py").read_text() == GOOD
    assert (repo.root / "linked.py").is_symlink()
    assert ground.sound()["ok"]


NAMES = [
    "with space.py",
    "line\nbreak.py",
    "tab\there.py",
    'double"quote.py',
    "single'quote.py",
    "back\\slash.py",
    "-rf.py",
    "--config=evil.py",
    "@response.py",
    "$(id).py",
    "%s{x}.py",
    "*.py",
    "[a-z].py",
    "ünï-çødé.py",
    "\u202egnp.py",
    "\x1b[31mred.py",
    "a,b;c&d|e.py",
    "folder with space/-x.py",
    "...py",
    "~root.py",
]


def test_any_name_is_a_name(repo, ground):
    repo.commit(dict.fromkeys(NAMES, BAD))
    told = ground.review()
    assert told.code == 0, told.stdout + told.stderr
    assert ground.sound()["fixed"] == len(NAMES)
    applied = ground("apply")
    assert applied.code == 0, applied.stderr
    assert repo.git("status", "--porcelain") == ""
    assert {name for name in NAMES if (repo.root / name).read_text() != GOOD} == set()
    shown = ground("show")
    assert shown.code == 0
    assert "\x1b[31m" not in shown.stdout, "a name must not speak to the terminal"


def test_all_of_these_names_at_once_and_hundreds_of_them_in_every_report(repo, ground):
    names = [f"-{number} o'd\"d\n{number}.py" for number in range(150)]
    repo.commit(dict.fromkeys(names, BAD))
    told = ground.review()
    assert told.code == 0, told.stderr
    assert ground.sound()["fixed"] == 150
    for form in ("md", "json", "sarif", "junit", "html"):
        assert ground("report", "--format", form).code == 0


def test_a_name_that_is_not_utf8_is_left_out_and_said(repo, ground):
    repo.write("a.py", BAD)
    odd = repo.root / os.fsdecode(b"caf\xe9.py")
    try:
        odd.write_text(BAD)
    except OSError:
        pytest.skip("NOT TESTED HERE: this file system takes UTF-8 names only")
    repo.commit()
    told = ground.review()
    assert told.code == 0, told.stderr
    assert "1 file with names that are not UTF-8 left out: caf\\xe9.py" in notes(told)
    assert {item["path"] for item in ground.items()} == {"a.py"}
    assert ground("apply").code == 0
    assert odd.read_text() == BAD


def test_crlf_stays_crlf(repo, ground):
    repo.commit({"a.py": BAD.replace("\n", "\r\n").encode()})
    assert fixed(repo, ground) == GOOD.replace("\n", "\r\n").encode()


def test_crlf_under_attributes_that_convert_it_stays_as_the_blob_has_it(repo, ground):
    repo.commit(
        {".gitattributes": "*.py text eol=crlf\n", "a.py": BAD.replace("\n", "\r\n").encode()}
    )
    assert fixed(repo, ground) == GOOD.replace("\n", "\r\n").encode()
    assert repo.git("show", "HEAD:a.py") == GOOD.removesuffix("\n"), (
        "in git it is the normal form, as before"
    )


def test_mixed_line_ends_stay_mixed(repo, ground):
    repo.commit({"a.py": b"import os\r\nimport sys\n\r\nprint(sys)\n\r\nprint(2)\r\n"})
    assert fixed(repo, ground) == b"import sys\n\r\nprint(sys)\n\r\nprint(2)\r\n"


def test_old_mac_line_ends_and_form_feeds_are_kept(repo, ground):
    repo.commit({"a.py": b"import os\n\x0c\nx = 'a\\\rb'\nprint(x)\n"})
    assert fixed(repo, ground) == b"\x0c\nx = 'a\\\rb'\nprint(x)\n"


def test_a_file_without_a_last_line_end_gets_none(repo, ground):
    repo.commit({"a.py": b"import os\nprint(1)"})
    assert fixed(repo, ground) == b"print(1)"


def test_a_byte_order_mark_stays(repo, ground):
    repo.commit({"a.py": b"\xef\xbb\xbfimport os\n\nprint(1)\n"})
    assert fixed(repo, ground) == b"\xef\xbb\xbf\nprint(1)\n"


def test_letters_before_the_edit_do_not_shift_it(repo, ground):
    text = 's = "ä漢😀\u2028x" + f"漢"\nprint(s)\n'
    repo.commit({"a.py": text})
    assert fixed(repo, ground).decode() == text.replace('f"漢"', '"漢"')


@pytest.mark.parametrize(
    "content",
    [
        b"# -*- coding: latin-1 -*-\nimport os\n\nprint('\xe9\xe8')\n",
        b"import os\n\nprint('\xff\xfe')\n",
        b"import os\n\x00\x00\nprint(1)\n",
        b"\xff\xfei\x00m\x00p\x00o\x00r\x00t\x00 \x00o\x00s\x00\n\x00",
        b"\x7fELF\x00\x01\x02" * 10,
    ],
    ids=["latin-1 with a cookie", "stray bytes", "null bytes", "utf-16", "binary"],
)
def test_a_source_that_is_no_utf8_is_never_rewritten_and_never_silently_clean(
    repo, ground, content
):
    repo.commit({"a.py": content, "b.py": BAD})
    told = ground.review()
    assert told.code in (0, 1, 3), told.stderr
    report = told.json["report"]
    spoken = [item for item in report["items"] if item["path"] == "a.py"] + report["refused"]
    assert spoken or told.code == 3, "the file was not looked at, and nobody said so"
    assert repo.git("diff", "--name-only", f"HEAD..{report['run']['branch']}") == "b.py"
    assert ground.sound()["ok"]


def test_binaries_beside_the_code_are_no_trouble(repo, ground):
    repo.commit(
        {
            "a.py": BAD,
            "logo.png": bytes(range(256)) * 500,
            "blob.bin": b"\0" * 10_000,
            "data.sh": b"\x00\xff#!/bin/sh",
        }
    )
    assert fixed(repo, ground) == GOOD.encode()


def test_empty_files_and_files_of_one_byte(repo, ground):
    repo.commit({"a.py": BAD, "empty.py": b"", "one.py": b"x", "nl.py": b"\n", "space.py": b" "})
    told = ground.review()
    assert told.code in (0, 1)
    assert ground.sound()["fixed"] == 1


@pytest.mark.parametrize("megabytes", rarely(1, 20), ids="{} MB".format)
def test_a_source_of_many_megabytes_is_fixed_and_nothing_else_in_it_changes(
    repo, ground, megabytes
):
    lines = range(50_000 * megabytes)
    rest = b"".join(b"value_%07d = %d\n" % (number, number) for number in lines)
    assert len(rest) > megabytes * 1_000_000
    repo.commit({"a.py": b"import os\n" + rest})
    began = time.monotonic()
    assert fixed(repo, ground) == rest
    assert time.monotonic() - began < 300


def test_one_line_of_many_megabytes_is_bounded_everywhere(repo, ground):
    repo.commit({"a.py": b"import os\nx = '" + b"y" * 8_000_000 + b"'\nprint(x)\n", "b.py": BAD})
    began = time.monotonic()
    told = ground.review("--set", "analyzers.select=F,E7,E501")
    assert told.code in (0, 1), told.stderr[-2000:]
    assert time.monotonic() - began < 120
    assert len(told.stdout) < 2_000_000, "a line is quoted, not copied"
    ledger = sum(path.stat().st_size for path in ground.home.glob("ledger.sqlite3*"))
    assert ledger < 20_000_000
    assert ground.sound()["fixed"] == 2
    assert all(path.stat().st_size < 2_000_000 for path in ground.home.glob("runs/*/report.*"))
