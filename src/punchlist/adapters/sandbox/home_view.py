"""What children see of the user's home: toolchains and caches of packages; never keys."""

import os
from collections.abc import Mapping
from pathlib import Path

from punchlist.adapters.folders.look import path_exists, resolve_path

_TOOLCHAINS = """
    .local/bin .local/lib .local/share/uv .local/share/pipx .local/pipx .local/share/pnpm
    .local/share/mise .local/share/virtualenvs .pyenv .rbenv .nodenv .goenv .jenv .asdf .nvm .volta
    .rvm .sdkman .rustup .cargo/bin .cargo/registry .cargo/git go/bin go/pkg .npm-global
    .bun/bin .bun/install .deno/bin .gem/ruby .m2/repository .m2/wrapper .gradle/caches
    .gradle/wrapper .gradle/jdks .ivy2/cache .ghcup .cabal/bin .cabal/packages .stack/programs
    .stack/snapshots .opam .elan .juliaup .julia/packages .julia/artifacts .julia/compiled
    .julia/registries .dotnet/sdk .dotnet/shared .dotnet/tools .nuget/packages .pub-cache/hosted
    .mix .conda/envs .conda/pkgs miniconda3 anaconda3 miniforge3 mambaforge .nix-profile
    .cache/pre-commit .cache/prek .cache/node/corepack .cache/ms-playwright .cache/puppeteer
    .cache/Cypress .cache/coursier .config/husky nltk_data
"""
_SECRETS = """
    .ssh .aws .azure .gnupg .kube .docker .netrc .git-credentials .npmrc .pypirc .password-store
    .vault-token .bunfig.toml .cargo/credentials .cargo/credentials.toml .cargo/config
    .cargo/config.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
    .gradle/gradle.properties .config/gh .config/gcloud .config/hub .config/op .config/git
    .config/punchlist .config/pip .claude .claude.json .codex .gemini .qwen .copilot
    .config/github-copilot .config/goose .local/share/opencode .local/share/keyrings
    .local/state/punchlist .mozilla
"""

_STATE = ".local/state/punchlist"


def find_toolchains(home: Path) -> tuple[Path, ...]:
    """Return the folders of the home that have compilers, interpreters and packages."""
    return tuple(
        home / name for name in _TOOLCHAINS.split() if os.access(f"{home}/{name}", os.F_OK)
    )


def list_secrets(home: Path) -> tuple[Path, ...]:
    """Return the usual paths of keys and tokens. The home is not shown; this is for installations
    that lie around one of them.
    """
    return tuple(home / name for name in _SECRETS.split())


def is_private(path: Path, home: Path) -> bool:
    """Return whether a path leads, behind links, to the home, to a folder around it, or to where
    keys are: then no child sees it on the word of a repository.
    """
    real, top = resolve_path(path), resolve_path(home)
    secrets = (each for each in list_secrets(top) if each != top / _STATE)
    return top.is_relative_to(real) or any(real.is_relative_to(each) for each in secrets)


def find_certificates(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files and folders with certificates that a child's variables name."""
    names = (
        "SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PIP_CERT"
        " GIT_SSL_CAINFO AWS_CA_BUNDLE"
    )
    found = (part for name in names.split() for part in env.get(name, "").split(":"))
    paths = (Path(part) for part in found if part.startswith("/"))
    return tuple(path for path in paths if path_exists(path))
