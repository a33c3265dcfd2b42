"""What differs between the REST APIs of forges: names, addresses, headers, tokens."""

import re
from collections.abc import Mapping

import httpx
from msgspec import Struct

_OWNER = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
_NAME = r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,100}"


class ApiStyle(Struct, frozen=True, kw_only=True):
    """One kind of forge. `kind` is its name in settings, `name` the one in messages."""

    kind: str
    name: str
    api: str
    """The address of the API of its public server."""
    variable: str
    """The environment variable that usually holds its token."""
    ending: str = ""
    """What the path of each address of its API ends with, if that is fixed."""
    server: str = ""
    """The path of the API of a server of one's own, for messages."""
    before_host: str = ""
    """What the host of the API may have before that of the pages."""
    other_hosts: Mapping[str, str] = {}
    """Hosts of remotes that stand for another one."""
    headers: Mapping[str, str] = {}
    signature: tuple[str, str] = ("Authorization", "Bearer ")
    """The header that carries the token, and what stands before it there."""
    bearer: str = ""
    """A pattern of tokens that are sent in the usual header all the same."""
    job: tuple[str, str] = ("", "")
    """The variable and the beginning of the token of a CI job, which may do too little."""
    sign_in: tuple[str, ...] = ()
    """The command that prints the token for the host that is its last argument."""
    sign_in_hint: str = ""
    repository: str = "OWNER/NAME"
    """How its repositories are named, for messages."""
    pattern: str = f"{_OWNER}/{_NAME}"

    def sign(self, token: str) -> dict[str, str]:
        """Return the header that carries the token."""
        usual = bool(self.bearer) and re.fullmatch(self.bearer, token)
        header, before = ("Authorization", "Bearer ") if usual else self.signature
        return {header: f"{before}{token}"}

    def is_name(self, name: str) -> bool:
        return re.fullmatch(self.pattern, name) is not None

    def has_address(self, api: httpx.URL) -> bool:
        """Return whether an address can be one of its API: of another kind of forge it is not."""
        ends = api.path.rstrip("/")
        if self.ending:
            return ends.endswith(self.ending)
        return not any(ends.endswith(style.ending) for style in STYLES.values() if style.ending)

    def web_host(self, api: httpx.URL) -> str:
        """Return the host of the pages: github.com for api.github.com."""
        return api.host.removeprefix(self.before_host)

    def web_path(self, api: httpx.URL) -> str:
        """Return the path below which the pages are, without a slash at its end: mostly ""."""
        return api.path.rstrip("/").removesuffix(self.ending) if self.ending else ""


GITHUB = ApiStyle(
    kind="github",
    name="GitHub",
    api="https://api.github.com",
    variable="GITHUB_TOKEN",
    server="/api/v3",
    before_host="api.",
    other_hosts={"ssh.github.com": "github.com"},
    headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
    sign_in=("gh", "auth", "token", "--hostname"),
    sign_in_hint="gh auth login",
)
GITLAB = ApiStyle(
    kind="gitlab",
    name="GitLab",
    api="https://gitlab.com/api/v4",
    variable="GITLAB_TOKEN",
    ending="/api/v4",
    server="/api/v4",
    other_hosts={"altssh.gitlab.com": "gitlab.com"},
    signature=("PRIVATE-TOKEN", ""),
    bearer="[0-9a-f]{64}",  # of an application that a user signed in to, such as glab
    job=("CI_JOB_TOKEN", "glcbt-"),
    sign_in=("glab", "config", "get", "token", "--host"),
    sign_in_hint="glab auth login",
    repository="GROUP/NAME",
    pattern=r"[A-Za-z0-9_][\w.-]{0,254}(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9_.][\w.-]{0,254}){1,20}",
)
GITEA = ApiStyle(
    kind="gitea",
    name="Gitea",
    api="https://gitea.com/api/v1",
    variable="GITEA_TOKEN",
    ending="/api/v1",
    headers={"Accept": "application/json"},
    signature=("Authorization", "token "),
)
FORGEJO = ApiStyle(
    kind="forgejo",
    name="Forgejo",
    api="https://codeberg.org/api/v1",
    variable="FORGEJO_TOKEN",
    ending="/api/v1",
    headers={"Accept": "application/json"},
    signature=("Authorization", "token "),
)
STYLES = {style.kind: style for style in (GITHUB, GITLAB, GITEA, FORGEJO)}
