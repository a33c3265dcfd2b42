"""What an editor shows: findings of saved files, at the right characters, and nothing for what is no code of a repository."""

import asyncio

from editor_client import describe_client, open_editor, underlined
from lsprotocol import types

CART = "import os\n\n\ndef total(prices, discount=None):\n    if discount == None:\n        return 0\n    return sum(prices)\n"


def test_findings_appear_when_a_file_is_opened_and_go_when_it_is_mended_or_closed(repo, tmp_path):
    repo.commit({"cart.py": CART})
    file = repo.root / "cart.py"

    async def edit():
        async with open_editor(tmp_path / "state") as editor:
            uri = editor.open(file)
            first = await editor.seen(uri)
            assert {(each.code, each.source) for each in first} == {
                ("F401", "ruff"),
                ("E711", "ruff"),
            }
            unused = next(each for each in first if each.code == "F401")
            assert underlined(CART, unused.range) == "os"
            assert unused.severity is types.DiagnosticSeverity.Information
            assert unused.code_description.href.startswith("https://docs.astral.sh/ruff/")
            mended = CART.removeprefix("import os\n\n\n")
            editor.change(uri, mended, 2)
            file.write_text(mended)
            editor.save(uri)
            assert [each.code for each in await editor.seen(uri, 2)] == ["E711"]
            assert editor.diagnostics[uri][-1].version == 2
            editor.close(uri)
            assert await editor.seen(uri, 3) == []
            assert list((tmp_path / "state" / "runs").iterdir()) == []  # a look is not recorded

    asyncio.run(edit())


def test_columns_are_utf16_units_also_after_an_emoji_and_in_a_file_with_a_mark(repo, tmp_path):
    text = 'def f(x):\n    y = "😀𝒳é"; return x == None\n'
    form_feed = "x = 1\n\f\ny = 'a\u2028b'\n\n\ndef f(x):\n    return '😀' if x == None else y\n"
    repo.commit({"emoji.py": text, "feed.py": form_feed, "mark.py": "\ufeffimport os\n"})

    async def edit():
        async with open_editor(tmp_path / "state") as editor:
            uris = {
                name: editor.open(repo.root / f"{name}.py") for name in ("emoji", "feed", "mark")
            }
            emoji, feed, mark = [await editor.seen(uri) for uri in uris.values()]
            found = next(each for each in emoji if each.code == "E711")
            assert underlined(text, found.range) == "None"
            assert found.range.start == types.Position(1, 29)
            found = next(each for each in feed if each.code == "E711")
            assert underlined(form_feed, found.range) == "None"
            assert underlined("\ufeffimport os\n", mark[0].range) == "os"

    asyncio.run(edit())


def test_what_is_no_reviewed_file_of_a_repository_shows_nothing_and_ends_nothing(
    repo, make_repo, tmp_path
):
    repo.commit({"cart.py": CART, ".gitignore": "build/\n"})
    ignored = repo.write("build/made.py", "import os\n")
    latin = repo.write(
        "latin.py", "# -*- coding: latin-1 -*-\nimport os\nname = 'é'\n".encode("latin-1")
    )
    binary = repo.write("binary.py", bytes(range(256)))
    unborn = make_repo("unborn").write("new.py", "import os\n")
    outside = tmp_path / "outside.py"
    outside.write_text("import os\n")
    huge = repo.write("huge.py", "import os\n" + "x = 1\n" * 400_000)

    async def edit():
        async with open_editor(tmp_path / "state") as editor:
            for file in (ignored, outside, unborn, huge):
                assert await editor.seen(editor.open(file)) == []
            assert "no git repository that has a commit" in await editor.told(str(unborn))
            gone = editor.open(repo.root / "gone.py", "import os\n")
            assert await editor.seen(gone) == []
            for uri in (
                "untitled:Untitled-1",
                "file:///",
                "file:///a%00b.py",
                "file://[x/a.py",
                "x",
            ):
                item = types.TextDocumentItem(uri, "python", 1, "import os\n")
                editor.text_document_did_open(types.DidOpenTextDocumentParams(item))
            editor.change("file:///never/opened.py", "", 7)
            editor.save("file:///never/opened.py")
            editor.close("file:///never/opened.py")
            found = await editor.seen(editor.open(latin))
            assert [each.code for each in found] == ["E902"]
            await editor.seen(editor.open(binary))
            renamed = repo.root / "renamed.py"
            cart = editor.open(repo.root / "cart.py")
            assert await editor.seen(cart)
            (repo.root / "cart.py").rename(renamed)
            before = len(editor.diagnostics[cart])
            editor.save(cart)
            assert await editor.seen(cart, before + 1) == []
            assert len(await editor.seen(editor.open(renamed))) == 2

    asyncio.run(edit())


def test_a_review_that_hangs_is_cancelled_by_its_user_by_a_newer_one_and_by_the_end(repo, tmp_path):
    repo.commit({"cart.py": CART})
    settings = tmp_path / "settings.toml"
    settings.write_text(
        '[[analyzers.custom]]\nname = "stuck"\ncommand = ["sleep", "600"]\nformat = "lines"\n'
        'loads_code = false\nfiles = ["*.py"]\n'
    )
    capable = describe_client(window=types.WindowClientCapabilities(work_done_progress=True))
    env = {"PUNCHLIST_CONFIG": str(settings)}

    async def edit():
        async with open_editor(tmp_path / "state", capabilities=capable, **env) as editor:
            uri = editor.open(repo.root / "cart.py")
            token = await editor.shows("begin", 1)
            editor.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
            assert await editor.shows("end", 1) == token
            editor.save(uri)
            second = await editor.shows("begin", 2)
            editor.save(uri)
            assert await editor.shows("end", 2) == second
            await editor.shows("begin", 3)
            assert uri not in editor.diagnostics

    asyncio.run(edit())
