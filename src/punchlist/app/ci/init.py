"""Write the files that make CI services, and pre-commit, run punchlist."""

from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import resolve_path
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.installed import find_source, pin_source

_GIT_EXAMPLE = "git+https://HOST/punchlist.git@COMMIT"
_GITHUB_NEEDS = (
    "no secret: the job's own token is enough. `contents: read` fetches commits, `pull-requests`"
    " and `issues: write` comment, `checks: write` makes the check, `security-events: write` fills"
    " the code scanning page, `actions: read` hands the result of forks to the second job"
)


class CiFile(Struct, frozen=True):
    """`shared`: a file that others write into as well, so it is never overwritten."""

    path: str
    template: str
    shared: bool = False


class CiSetup(Struct, frozen=True):
    """The files for one service, and what it needs besides."""

    files: tuple[CiFile, ...]
    needs: str


SETUPS = {
    "github": CiSetup(
        (
            CiFile(".github/workflows/punchlist.yml", "github.yml"),
            CiFile(".github/workflows/punchlist-relay.yml", "github-relay.yml"),
        ),
        _GITHUB_NEEDS,
    ),
    "gitlab": CiSetup(
        (
            CiFile(".gitlab/punchlist.yml", "gitlab.yml"),
            CiFile(".gitlab-ci.yml", "gitlab-ci.yml", shared=True),
        ),
        "no secret to leave reports on the merge request's page; to comment and to set the status,"
        " a project access token (role Developer, scope api) as the masked variable GITLAB_TOKEN:"
        " the job's own token cannot write there",
    ),
    "gitea": CiSetup(
        (CiFile(".gitea/workflows/punchlist.yml", "gitea.yml"),),
        "no secret: the job reviews as a gate; runs of forks must be approved by a member",
    ),
    "pre-commit": CiSetup(
        (CiFile(".pre-commit-config.yaml", "pre-commit.yaml", shared=True),),
        "nothing: `pre-commit install` lets it review what is staged before each commit",
    ),
}


class WrittenFiles(Struct, frozen=True, kw_only=True):
    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    add: dict[str, str] = {}
    """By shared file that is there already: the lines to add to it."""
    needs: dict[str, str] = {}
    """By service: the permissions and secrets that it needs, and why."""


async def write_ci_files(
    session: Session, names: list[str], *, source: str, force: bool
) -> WrittenFiles:
    """Write the files of these services into the checkout; they install punchlist from `source`, by
    default from where this one came. Raise UsageError, and write none, if one is there and differs,
    unless `force`; shared files are never overwritten.
    """
    requirement = _choose_source(source)
    root = session.required_checkout.root
    branch = await _find_branch(session)
    chosen = [each for name in names for each in SETUPS[name].files]
    texts = {each: _render(each.template, branch, requirement) for each in chosen}
    held = {each: _read_file(root, each.path) for each in chosen}
    differ = [each for each in chosen if held[each] not in (None, texts[each]) and not each.shared]
    if differ and not force:
        raise UsageError(
            f"{differ[0].path} is there already, and differs from what would be written",
            hint="--force overwrites it; git diff shows then what changed",
        )
    fresh = [each for each in chosen if held[each] is None or each in differ]
    for each in fresh:
        _write_file(root / each.path, texts[each])
    return WrittenFiles(
        written=tuple(each.path for each in fresh),
        unchanged=tuple(each.path for each in chosen if held[each] == texts[each]),
        add={each.path: texts[each] for each in chosen if _lacks(each, texts[each], held[each])},
        needs={name: SETUPS[name].needs for name in names},
    )


def _lacks(file: CiFile, text: str, held: str | None) -> bool:
    """Return whether a shared file has nothing of punchlist yet."""
    return file.shared and held is not None and held != text and "punchlist" not in held


async def _find_branch(session: Session) -> str:
    names = await session.required_checkout.find_main_branch()
    found = (names[0] if names else await session.required_checkout.current_branch()) or "main"
    name = found.removeprefix("refs/remotes/").removeprefix("origin/")
    return f'"{name}"' if name.isprintable() and not set(name) & set('"\\*?[]!') else "main"


def _choose_source(given: str) -> str:
    """Return the requirement that the files install; raise UsageError if none is pinned."""
    example = f"--source '{_GIT_EXAMPLE}', or a wheel's https address with #sha256=..."
    if given:
        if found := pin_source(given):
            return found
        what = f"{given}: a CI job could get another program from there on another day"
        raise UsageError(what, hint=f"pin it: {example}, or punchlist==VERSION of your index")
    if found := find_source():
        return found
    raise UsageError(
        "this punchlist was installed from a folder of this machine, which CI does not have",
        hint=f"say where CI gets it: {example}",
    )


def _render(template: str, branch: str, requirement: str) -> str:
    text = (files("punchlist.app.ci") / "templates" / template).read_text("utf-8")
    key = sha256(requirement.encode()).hexdigest()[:12]
    text = text.replace("SOURCE", requirement).replace("-KEY", f"-{key}")
    return text.replace("[BRANCH]", f"[{branch}]")


def _read_file(root: Path, path: str) -> str | None:
    """Return the text of a file, or None if there is none. Raise UsageError if it leads out of the
    checkout or is no text.
    """
    whole = root / path
    if not resolve_path(whole).is_relative_to(resolve_path(root)):
        raise UsageError(f"{path} leads out of the repository", hint="remove the link")
    try:
        return whole.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _write_file(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
