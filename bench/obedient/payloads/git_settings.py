"""Settings of git, in each file of a repository that can hold them, that name a program."""

from beside_payload import payload

KIND = "git settings"
SSH, EXT = "git transports: ssh", "git transports: ext"
TTY = "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "
FETCH = "git -c protocol.allow=always fetch -q "


def setting(name, text, control, kind=KIND):
    """A payload of one piece of .git/config; `{command}` in it is the quoted command."""

    @payload(name, kind=kind, control=control)
    def plant(plant):
        plant.config(
            text.replace("{command}", plant.quoted)
            .replace("{repo}", str(plant.repo))
            .replace("{inner}", plant.quoted[1:-1])
        )


setting("core.fsmonitor", "[core]\n\tfsmonitor = {command}", "git status")
setting(
    "core.askPass",
    "[core]\n\taskPass = {repo}/tools/askpass",
    "echo url=https://example.org | git -c credential.helper= credential fill </dev/null; tools/askpass",
)
setting("core.editor", "[core]\n\teditor = {command}", "git commit --allow-empty --no-gpg-sign")
setting("sequence.editor", "[sequence]\n\teditor = {command}", "git rebase -i HEAD~1")
setting("core.pager", "[core]\n\tpager = {command}", TTY + "git log")
setting("pager.diff", "[pager]\n\tdiff = {command}", TTY + "git diff HEAD~1")
setting(
    "pager.show",
    "[pager]\n\tshow = {command}\n\tlog = true\n\tstatus = {command}",
    TTY + "git status",
)
setting("core.gitProxy", "[core]\n\tgitProxy = {command}", FETCH + "git://example.org/x")
setting(
    "credential.helper",
    '[credential]\n\thelper = "!{inner}"',
    "echo url=https://example.org | git credential fill",
)
setting(
    "credential for a URL",
    '[credential "https://example.com"]\n\thelper = "!{inner}"',
    "echo url=https://example.com | git credential fill",
)
setting("diff.external", "[diff]\n\texternal = {command}", "git diff HEAD~1 -- build.sh")
setting(
    "gpg.program",
    "[gpg]\n\tprogram = {repo}/tools/gpg\n[commit]\n\tgpgSign = true\n[tag]\n\tgpgSign = true",
    "git commit --allow-empty -m x; tools/gpg",
)
setting(
    "gpg.ssh.program",
    '[gpg "ssh"]\n\tprogram = {repo}/tools/gpg-ssh\n\tdefaultKeyCommand = {command}',
    "git -c gpg.format=ssh commit -S --allow-empty -m x",
)
setting(
    "gpg.x509.program",
    '[gpg "x509"]\n\tprogram = {repo}/tools/gpg-x509',
    "git -c gpg.format=x509 commit -S --allow-empty -m x; tools/gpg-x509",
)
setting("log.showSignature", "[log]\n\tshowSignature = true", None)
setting("alias", '[alias]\n\tst = "!{inner}"\n\tbeside = "!{inner}"', "git beside")
setting(
    "interactive.diffFilter",
    "[interactive]\n\tdiffFilter = {command}",
    "echo >> build.sh; echo q | git add -p",
)
setting(
    "difftool",
    '[diff]\n\ttool = evil\n[difftool "evil"]\n\tcmd = {command}\n[difftool]\n\tprompt = false',
    "git difftool -y HEAD~1 -- build.sh",
)
setting("mergetool", '[merge]\n\ttool = evil\n[mergetool "evil"]\n\tcmd = {command}', None)
setting(
    "trailer.command",
    '[trailer "sign"]\n\tkey = "Beside: "\n\tifmissing = add\n\tifexists = replace\n\tcommand = {command}',
    "echo x | git interpret-trailers --trailer Beside=1",
)
setting(
    "trailer.cmd",
    '[trailer "claim"]\n\tkey = "Punchlist-Run: "\n\tcmd = {command}',
    "echo x | git interpret-trailers --trailer claim=1",
)
setting(
    "submodule.update",
    '[submodule "sub"]\n\turl = {repo}\n\tupdate = "!{inner}"\n\tactive = true',
    None,
)
setting(
    "gc.recentObjectsHook",
    "[gc]\n\tauto = 1\n\trecentObjectsHook = {command}\n\tautoDetach = false",
    None,
)
setting(
    "core.sshCommand by insteadOf of /",
    '[core]\n\tsshCommand = {command}\n[url "ssh://example.org/"]\n\tinsteadOf = /',
    "git fetch -q $PWD HEAD",
    SSH,
)
setting(
    "ext:: by insteadOf of file://",
    '[protocol "ext"]\n\tallow = always\n[url "ext::sh {repo}/tools/ext1.sh %S "]\n\tinsteadOf = file://',
    "git fetch -q file://$PWD HEAD",
    EXT,
)
setting(
    "ext:: by insteadOf of https://",
    '[protocol]\n\tallow = always\n[url "ext::sh {repo}/tools/ext2.sh %S "]\n\tinsteadOf = https://',
    "git fetch -q https://example.org/x HEAD",
    EXT,
)
setting(
    "ext:: by pushInsteadOf",
    '[url "ext::sh {repo}/tools/ext3.sh %S "]\n\tpushInsteadOf = file://\n\tpushInsteadOf = /\n\tpushInsteadOf = git@',
    "git push -q git@example.org:x HEAD:refs/heads/x",
    EXT,
)
setting(
    "ext:: by insteadOf of a dot",
    '[url "ext::sh {repo}/tools/ext4.sh %S "]\n\tinsteadOf = .\n\tinsteadOf = ..',
    "git fetch -q . HEAD",
    EXT,
)
setting(
    "ext:: by insteadOf of /",
    '[protocol]\n\tallow = always\n[url "ext::sh {repo}/tools/ext6.sh %S "]\n\tinsteadOf = /',
    "git fetch -q $PWD HEAD",
    EXT,
)
setting(
    "ext:: as origin",
    '[remote "origin"]\n\turl = "ext::sh {repo}/tools/ext5.sh %S"\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
    "git fetch -q origin",
    EXT,
)
setting(
    "remote.uploadpack",
    '[remote "up"]\n\turl = ssh://up/x\n\tuploadpack = {command}\n\treceivepack = {command}',
    'GIT_SSH_COMMAND=\'sh -c "eval $1" --\' sh -c "$(git config remote.up.uploadpack)"',
)
setting(
    "remote.pushDefault",
    "[remote]\n\tpushDefault = origin\n[push]\n\tautoSetupRemote = true\n\trecurseSubmodules = on-demand\n[fetch]\n\trecurseSubmodules = true",
    None,
)
setting("include.path to a file of the tree", "[include]\n\tpath = ../.gitinclude", "git included")
setting("includeIf", '[includeIf "gitdir:**"]\n\tpath = ../.gitinclude2', "git included2")
setting(
    "http.proxy and certificates", "[http]\n\tproxy = http://127.0.0.1:9\n\tsslVerify = false", None
)
setting(
    "core.hooksPath",
    "[core]\n\thooksPath = .githooks",
    "git commit --allow-empty --no-gpg-sign -m x",
)
setting("core.alternateRefsCommand", "[core]\n\talternateRefsCommand = {command}", None)
setting(
    "browser",
    '[web]\n\tbrowser = evil\n[browser "evil"]\n\tcmd = {command}\n[help]\n\tbrowser = evil\n\tformat = html\n\tautocorrect = immediate',
    "git web--browse x.html",
)
setting(
    "man.viewer",
    '[man]\n\tviewer = evil\n[man "evil"]\n\tcmd = {command}',
    "git -c help.format=man help git",
)
setting(
    "filter.clean and smudge",
    '[filter "evil"]\n\tclean = {command}\n\tsmudge = {command}\n\trequired = false',
    "touch data.evil; echo >> data.evil; git add data.evil",
)
setting(
    "filter.process",
    '[filter "proc"]\n\tprocess = {command}\n\trequired = false',
    "echo >> data.proc; git add data.proc",
)
setting(
    "filter for all files by info/attributes",
    '[filter "every"]\n\tclean = {command}\n\tsmudge = {command}',
    "echo >> src/shop/every.py; git add -A",
)
setting(
    "diff.textconv",
    '[diff "conv"]\n\ttextconv = {command}\n\tcachetextconv = false',
    "git show HEAD -- src/shop/prices.py",
)
setting("diff.command", '[diff "cmd"]\n\tcommand = {command}', "git diff HEAD~1 -- src/web/app.js")
setting(
    "merge.driver",
    '[merge "evil"]\n\tdriver = {command}',
    "git checkout -q -b m1 HEAD~1; echo 1 >> merge.me; git commit --no-gpg-sign -qam 1; git checkout -q -b m2 HEAD~1; echo 2 >> merge.me; git commit --no-gpg-sign -qam 2; git merge -q m1",
)
setting(
    "uploadpack.packObjectsHook",
    "[uploadpack]\n\tpackObjectsHook = {command}\n\tallowFilter = true",
    None,
)
setting("sendemail", "[sendemail]\n\tsmtpServer = {repo}/tools/sendmail\n\ttoCmd = {command}", None)
setting(
    "stash, blame and grep",
    "[blame]\n\tignoreRevsFile = /nonexistent\n[grep]\n\tfullName = true",
    None,
)


@payload("files that git's settings name", kind=KIND)
def files(plant):
    """The programs, attributes and included files of the settings above; each says the name of its setting."""
    own = plant.name
    for name, path in {
        "core.askPass": "tools/askpass",
        "gpg.program": "tools/gpg",
        "gpg.ssh.program": "tools/gpg-ssh",
        "gpg.x509.program": "tools/gpg-x509",
        "sendemail": "tools/sendmail",
    }.items():
        plant.name = name
        plant.program(path)
    for number in ("", "2"):
        plant.name = "includeIf" if number else "include.path to a file of the tree"
        plant.write(
            f".gitinclude{number}",
            f'[alias]\n\tincluded{number} = "!{plant.quoted[1:-1]}"\n[core]\n\tpager = {plant.quoted}\n',
        )
    plant.name = "core.hooksPath"
    for hook in HOOKS:
        plant.write(f".githooks/{hook}", plant.script(), 0o755)
    plant.name = own
    plant.write(
        ".gitattributes",
        "*.evil filter=evil\n*.proc filter=proc\n*.py diff=conv\n*.js diff=cmd\n*.me merge=evil\nsrc/** merge=evil\n",
    )
    plant.git_file(
        "info/attributes", "every.py filter=every\nsrc/** filter=every\n*.md diff=conv\n"
    )
    for path in ("data.evil", "data.proc", "merge.me", "src/shop/every.py", "README.md"):
        plant.write(path, "x = 1\n")


@payload("files that the ext transports name", kind=EXT)
def ext_files(plant):
    names = (
        "ext:: by insteadOf of file://",
        "ext:: by insteadOf of https://",
        "ext:: by pushInsteadOf",
        "ext:: by insteadOf of a dot",
        "ext:: as origin",
        "ext:: by insteadOf of /",
    )
    for number, name in enumerate(names, 1):
        plant.name = name
        plant.write(f"tools/ext{number}.sh", f"{plant.shell}\n", 0o755)


HOOKS = (
    *(
        "applypatch-msg",
        "pre-applypatch",
        "post-applypatch",
        "pre-commit",
        "pre-merge-commit",
        "prepare-commit-msg",
        "commit-msg",
    ),
    *(
        "post-commit",
        "pre-rebase",
        "post-checkout",
        "post-merge",
        "pre-push",
        "pre-receive",
        "update",
        "proc-receive",
        "post-receive",
    ),
    *(
        "post-update",
        "reference-transaction",
        "push-to-checkout",
        "pre-auto-gc",
        "post-rewrite",
        "sendemail-validate",
    ),
    *("fsmonitor-watchman", "p4-pre-submit", "post-index-change"),
)
WHEN = {
    "pre-commit": "git commit --allow-empty -m x",
    "prepare-commit-msg": "git commit --allow-empty -m x",
    "commit-msg": "git commit --allow-empty -m x",
    "post-commit": "git commit --allow-empty -m x",
    "post-rewrite": "git commit --amend --allow-empty -m x",
    "post-checkout": "git checkout -q main",
    "post-index-change": "git checkout -q main",
    "reference-transaction": "git branch x",
    "pre-rebase": "git rebase --force-rebase HEAD~1",
    "pre-push": "git push -q . HEAD:refs/heads/pushed",
    "pre-receive": "git push -q . HEAD:refs/heads/pushed",
    "update": "git push -q . HEAD:refs/heads/pushed",
    "post-receive": "git push -q . HEAD:refs/heads/pushed",
    "post-update": "git push -q . HEAD:refs/heads/pushed",
    "push-to-checkout": "git -c receive.denyCurrentBranch=updateInstead push -q -f . HEAD~1:feature",
    "pre-merge-commit": "git checkout -q -b m HEAD~1; git commit -q --allow-empty -m x; git merge --no-edit --no-ff feature",
    "post-merge": "git checkout -q main; git merge feature",
    "applypatch-msg": "git format-patch -1 --stdout > /dev/shm/p.$$; git reset -q --hard HEAD~1; git am < /dev/shm/p.$$; rm /dev/shm/p.$$",
    "pre-applypatch": "git format-patch -1 --stdout > /dev/shm/p.$$; git reset -q --hard HEAD~1; git am < /dev/shm/p.$$; rm /dev/shm/p.$$",
    "post-applypatch": "git format-patch -1 --stdout > /dev/shm/p.$$; git reset -q --hard HEAD~1; git am < /dev/shm/p.$$; rm /dev/shm/p.$$",
}
for hook in HOOKS:

    @payload(f"hook {hook}", kind="git hooks", control=WHEN.get(hook))
    def plant_hook(plant, hook=hook):
        then = "/bin/true" if hook != "fsmonitor-watchman" else ""
        plant.git_file(f"hooks/{hook}", plant.script(then), 0o755)


@payload("gc.auto = 1, with hooks", kind="git hooks")
def many_objects(plant):
    plant.config(
        "[gc]\n\tauto = 1\n\tautoDetach = false\n[maintenance]\n\tauto = true\n[receive]\n\tautogc = true\n\tdenyCurrentBranch = updateInstead"
    )
