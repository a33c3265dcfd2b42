"""The files of the user's checkout as they are saved, as a commit in the workshop."""

import shutil
from collections.abc import Sequence

from punchlist.adapters.folders.look import is_file
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError

_MESSAGE = "the work tree as it was saved"


async def snapshot_working_tree(workshop: Workshop, paths: Sequence[str]) -> str:
    """Return a commit with what HEAD tracks as it is now, and with those of `paths` that git does
    not ignore. The user's index is copied, not changed.
    """
    checkout = workshop.checkout
    git = checkout.user_git
    with temporary_folder("index-", workshop.folder) as folder:
        copy = folder / "index"
        if is_file(index := checkout.own_dir / "index"):
            shutil.copyfile(index, copy)
        objects = str(workshop.git_dir / "objects")
        env = {"GIT_INDEX_FILE": str(copy), "GIT_OBJECT_DIRECTORY": objects}
        # Submodules are left out: git would start another git in them, with their configuration.
        differs = ("diff-files", "--name-only", "-z", "--ignore-submodules=all")
        changed = (await git.run(*differs, env=env)).stdout
        if changed:  # a file that cannot be read stays as the index has it
            add = ("add", "--update", "--ignore-errors")
            these = ("--pathspec-from-file=-", "--pathspec-file-nul")
            await git.run(*add, *these, stdin=changed, env=env)
        if there := [path for path in paths if is_file(checkout.root / path)]:
            known = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *there)
            if named := await git.list_fields(*known, env=env):
                await git.run("add", "--ignore-errors", "--", *dict.fromkeys(named), env=env)
        ran = await git.run("write-tree", env=env)
    if not ran.ok:
        raise RepositoryError(
            f"{checkout.root}: the files are not in a state to review",
            hint="resolve the merge that is under way first",
        )
    return await workshop.commit_tree(ran.stdout.decode().strip(), (checkout.head,), _MESSAGE)
