"""Repositories that are put together in unusual ways: each is a kind of its own, because git sees one of them at a time."""

import subprocess

from beside_payload import payload


def run(plant, *words, cwd=None):
    command = [
        "git",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "core.hooksPath=/dev/null",
        *words,
    ]
    return subprocess.run(
        command, cwd=cwd or plant.repo, check=True, capture_output=True, text=True
    ).stdout.strip()


EXT = '[protocol "ext"]\n\tallow = always\n[protocol]\n\tallow = always\n'


@payload(
    "promisor remote with missing objects",
    kind="git: promisor",
    control="git cat-file -p HEAD:gone.txt; git log -p --all",
)
def promisor(plant):
    """A partial clone, of which objects of the base and the head are not there."""
    plant.write("gone.txt", "gone\n")
    plant.write("tools/lazy.sh", f"{plant.shell}\n", 0o755)
    oid = run(plant, "hash-object", "gone.txt")
    plant.config(
        f'[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = evil\n{EXT}[remote "evil"]\n\tpromisor = true\n'
        f'\tpartialclonefilter = blob:none\n\turl = "ext::sh {plant.repo}/tools/lazy.sh %S"'
    )
    plant.gone.append(f".git/objects/{oid[:2]}/{oid[2:]}")


@payload(
    "promisor remote by sshCommand",
    kind="git: promisor by ssh",
    control="git cat-file -p HEAD:gone.txt; git log -p --all",
)
def promisor_ssh(plant):
    plant.write("gone.txt", "gone too\n")
    oid = run(plant, "hash-object", "gone.txt")
    plant.config(
        f'[core]\n\trepositoryformatversion = 1\n\tsshCommand = {plant.quoted}\n[extensions]\n\tpartialClone = evil\n[remote "evil"]\n'
        "\tpromisor = true\n\tpartialclonefilter = blob:none\n\turl = ssh://example.org/x"
    )
    plant.gone.append(f".git/objects/{oid[:2]}/{oid[2:]}")


@payload("config.worktree", kind="git: config.worktree", control="git status")
def worktree_config(plant):
    plant.config("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true")
    plant.git_file(
        "config.worktree",
        f'[core]\n\tfsmonitor = {plant.quoted}\n\tsshCommand = {plant.quoted}\n[url "ssh://example.org/"]\n\tinsteadOf = /\n',
    )


@payload(
    ".git is a file that names a folder of the tree", kind="git: .git file", control="git status"
)
def git_file(plant):
    plant.config(
        f'[core]\n\tfsmonitor = {plant.quoted}\n\tsshCommand = {plant.quoted}\n[url "ssh://example.org/"]\n\tinsteadOf = /'
    )
    plant.moved.append((".git", "data/store.git", "gitdir: data/store.git\n"))


@payload("core.worktree and fsmonitor", kind="git: core.worktree", control="git status")
def worktree(plant):
    plant.config(
        f'[core]\n\tworktree = {plant.repo}\n\tfsmonitor = {plant.quoted}\n\tsshCommand = {plant.quoted}\n[url "ssh://example.org/"]\n\tinsteadOf = /'
    )


@payload(
    "alternates with alternateRefsCommand",
    kind="git: alternates",
    control="git fetch -q file://$PWD/../alternates-other HEAD; git -c protocol.file.allow=always push -q . HEAD:refs/heads/z",
)
def alternates(plant):
    other = plant.repo / "vendor/store"
    other.mkdir(parents=True)
    run(plant, "init", "-q", "--bare", cwd=other)
    plant.config(f"[core]\n\talternateRefsCommand = {plant.quoted}")
    plant.git_file("objects/info/alternates", f"{other}/objects\n")


@payload(
    "a linked work tree with commondir in the tree", kind="git: commondir", control="git status"
)
def commondir(plant):
    plant.config(
        f'[core]\n\tfsmonitor = {plant.quoted}\n\tsshCommand = {plant.quoted}\n[url "ssh://example.org/"]\n\tinsteadOf = /'
    )
    plant.git_file("commondir", ".\n")


@payload("grafts and replaced objects", kind="git: commondir")
def grafts(plant):
    plant.git_file("info/grafts", "")


@payload(
    "bare repository in a folder of the tree",
    kind="git: embedded",
    control="cd embedded && git status",
)
def embedded(plant):
    folder = plant.repo / "embedded"
    for name in ("objects/info", "refs/heads"):
        plant.write(f"embedded/{name}/.keep")
    plant.write("embedded/HEAD", "ref: refs/heads/main\n")
    plant.write(
        "embedded/config",
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {plant.repo}/embedded/tree\n\tfsmonitor = {plant.quoted}\n"
        f'\tpager = {plant.quoted}\n\tsshCommand = {plant.quoted}\n[url "ssh://example.org/"]\n\tinsteadOf = /\n',
    )
    plant.write("embedded/tree/a.py", "import os\n")
    assert folder.is_dir()


@payload("a submodule with hostile settings", kind="git: submodule", control="cd sub && git status")
def submodule(plant):
    sub = plant.repo / "sub"
    sub.mkdir()
    run(plant, "init", "-q", "-b", "main", cwd=sub)
    (sub / "a.py").write_text("import os\n")
    (sub / ".gitattributes").write_text("*.py filter=evil\n")
    run(plant, "add", "-A", cwd=sub)
    run(plant, "commit", "-q", "-m", "x", cwd=sub)
    plant.write(
        ".gitmodules",
        f'[submodule "sub"]\n\tpath = sub\n\turl = {plant.repo}/sub\n\tupdate = merge\n',
    )
    plant.later.append(
        (
            "sub/.git/config",
            f'[core]\n\tfsmonitor = {plant.quoted}\n\tpager = {plant.quoted}\n[status]\n\tsubmoduleSummary = true\n[filter "evil"]\n\tclean = {plant.quoted}\n\tsmudge = {plant.quoted}\n',
            0o644,
        )
    )
    plant.config(
        f'[submodule "sub"]\n\tactive = true\n\turl = {plant.repo}/sub\n[status]\n\tsubmoduleSummary = true\n[diff]\n\tsubmodule = diff'
    )


@payload(
    "submodule.update of a command",
    kind="git: submodule",
    control="git submodule update --force sub",
)
def submodule_update(plant):
    plant.config(f'[submodule "sub"]\n\tupdate = "!{plant.quoted[1:-1]}"')


@payload(
    "hooks and settings of an index with fsmonitor and a split index",
    kind="git: index",
    control="git status",
)
def index(plant):
    plant.config(
        f"[core]\n\tfsmonitor = {plant.quoted}\n\tfsmonitorHookVersion = 1\n\tuntrackedCache = true\n\tsplitIndex = true\n[index]\n\tsparse = true\n[feature]\n\tmanyFiles = true"
    )


@payload(
    "a remote helper of the repository's own",
    kind="git: remote helper",
    control="git fetch -q origin",
    variables=lambda repo, env: {"PATH": f"{env['PATH']}:{repo}/helpers"},
)
def helper(plant):
    plant.program("helpers/git-remote-evil")
    plant.config(
        '[remote "origin"]\n\turl = evil::x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "feature"]\n\tremote = origin\n\tmerge = refs/heads/feature\n'
        f'[url "evil::{plant.repo}"]\n\tinsteadOf = {plant.repo}\n\tinsteadOf = file://'
    )


@payload(
    "signed commits with gpg.program",
    kind="git: signed commits",
    control="git log -1; git log --show-signature -1",
)
def signed(plant):
    """Commits that have a signature, and settings with which reading them asks for a program."""
    plant.program("tools/verify")
    plant.config(
        f"[gpg]\n\tprogram = {plant.repo}/tools/verify\n[log]\n\tshowSignature = true\n[merge]\n\tverifySignatures = true\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true\n[push]\n\tgpgSign = if-asked"
    )
    plant.after.append(sign_head)


def sign_head(repo):
    """Give the head commit a signature; its tree and parents stay."""

    def git(*words, given=None):
        return subprocess.run(
            ["git", *words], cwd=repo, check=True, capture_output=True, text=True, input=given
        ).stdout

    head, _, message = git("cat-file", "commit", "HEAD").partition("\n\n")
    lines = ("-----BEGIN PGP SIGNATURE-----", "", "iHUEABYKAB0WIQ", "-----END PGP SIGNATURE-----")
    made = git(
        "hash-object",
        "-t",
        "commit",
        "-w",
        "--stdin",
        given=f"{head}\ngpgsig " + "\n ".join(lines) + f"\n\n{message}",
    )
    git("update-ref", "refs/heads/feature", made.strip())
