"""JavaScript projects: programs of node_modules, scripts of package.json, settings of package managers that load code."""

import json
import shutil

from beside_payload import payload

KIND = "node"
PROGRAMS = (
    *(
        "eslint",
        "biome",
        "pyright",
        "basedpyright",
        "prettier",
        "tsc",
        "jest",
        "vitest",
        "mocha",
        "ast-grep",
        "sg",
        "standard",
    ),
    *(
        "xo",
        "oxlint",
        "tslint",
        "semgrep",
        "shellcheck",
        "ruff",
        "node",
        "npm",
        "npx",
        "git",
        "python3",
        "claude",
        "codex",
        "gemini",
    ),
)
for number, name in enumerate(PROGRAMS):

    @payload(
        f"node_modules/.bin/{name}",
        kind=KIND,
        control=f"node_modules/.bin/{name} --version </dev/null",
    )
    def program(plant, name=name, number=number):
        plant.program(
            f"node_modules/.bin/{name}",
            shutil.which(name, path="/usr/bin:/bin") or "",
            native=number % 2 == 1,
        )


for name, manifest in {
    "eslint": {"bin": {"eslint": "bin/eslint.js"}},
    "@biomejs/biome": {"bin": {"biome": "bin/biome"}},
    "pyright": {"bin": {"pyright": "index.js"}},
    "typescript": {"bin": {"tsc": "bin/tsc"}},
}.items():

    @payload(f"node_modules/{name}", kind=KIND, control=f"node -e 'require(\"{name}\")'")
    def package(plant, name=name, manifest=manifest):
        about = {"name": name, "version": "9.9.9", "main": "index.js", **manifest}
        plant.write(f"node_modules/{name}/package.json", json.dumps(about))
        plant.write(f"node_modules/{name}/index.js", plant.javascript)
        for path in manifest["bin"].values():
            if path != "index.js":
                plant.write(
                    f"node_modules/{name}/{path}", f"#!/usr/bin/env node\n{plant.javascript}", 0o755
                )


SCRIPTS = (
    "test",
    "pretest",
    "posttest",
    "lint",
    "build",
    "check",
    "typecheck",
    "format",
    "install",
    "preinstall",
    "postinstall",
    "prepare",
    "start",
)


@payload("package.json: the scripts file", kind=KIND)
def manifest(plant):
    names, own = {}, plant.name
    for name in SCRIPTS:
        plant.name = f"package.json: {name}"
        names[name] = plant.shell
    plant.name = own
    about = {
        "name": "shop",
        "version": "1.0.0",
        "scripts": names,
        "packageManager": "yarn@1.22.0",
        "workspaces": [],
        "devDependencies": {"eslint": "*"},
    }
    about |= {
        "eslintConfig": {"extends": ["./tools/eslint-base.js"]},
        "jest": {"globalSetup": "./tools/setup.js"},
    }
    plant.write("package.json", json.dumps(about))
    plant.write(
        "package-lock.json", json.dumps({"name": "shop", "lockfileVersion": 3, "packages": {}})
    )


for name in SCRIPTS:

    @payload(
        f"package.json: {name}",
        kind=KIND,
        control=f"npm run -s {name.removeprefix('pre').removeprefix('post') if name.endswith('test') else name}",
    )
    def script(plant):
        """Written by the payload of the whole file."""


@payload(
    ".npmrc: script-shell and node-options", kind=KIND, control="npm run -s other; npm run -s lint"
)
def npmrc(plant):
    plant.program("tools/npm-shell", "/bin/sh")
    plant.write("tools/preload.cjs", plant.javascript)
    plant.write(
        ".npmrc",
        f"script-shell={plant.repo}/tools/npm-shell\nnode-options=--require={plant.repo}/tools/preload.cjs\ngit={plant.repo}/tools/npm-shell\n",
    )


@payload("yarn: yarnPath", kind=KIND)
def yarn(plant):
    plant.write(
        ".yarnrc.yml",
        "yarnPath: .yarn/releases/yarn-4.0.0.cjs\nplugins:\n  - .yarn/plugins/evil.cjs\n",
    )
    plant.write(".yarnrc", 'yarn-path ".yarn/releases/yarn-4.0.0.cjs"\n')
    plant.write(".yarn/releases/yarn-4.0.0.cjs", plant.javascript)
    plant.write(".yarn/plugins/evil.cjs", plant.javascript)
    plant.write("yarn.lock", "")


@payload(".pnp.cjs", kind=KIND, control="node -r ./.pnp.cjs -e 0")
def pnp(plant):
    plant.write(".pnp.cjs", plant.javascript)
    plant.write(".pnp.loader.mjs", plant.ecmascript)


@payload(".pnpmfile.cjs", kind=KIND)
def pnpm(plant):
    plant.write(".pnpmfile.cjs", plant.javascript)
    plant.write("pnpm-lock.yaml", "lockfileVersion: '9.0'\n")


@payload("bunfig.toml: preload", kind=KIND)
def bun(plant):
    plant.write("bunfig.toml", 'preload = ["./tools/preload.cjs"]\n')
    plant.write("bun.lockb", "")
