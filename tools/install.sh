#!/bin/sh
# tools/install.sh FOLDER ARGUMENTS...: a virtual environment with what pip would install for these arguments. uv does it in a
# third of the time: it is taken from PATH, else installed below .venv. Where it is not to be had or fails, pip does it.
set -eu
folder=$1
shift

find_uv() {
  command -v uv || { [ -x .venv/uv/bin/uv ] && echo .venv/uv/bin/uv; }
}

make_environment() {
  [ ! -x "$folder/bin/python" ] || return 0
  if uv=$(find_uv); then "$uv" venv --quiet --seed --python "${PYTHON:-python3}" "$folder" && return 0; fi
  "${PYTHON:-python3}" -m venv "$folder"
}

pip() {
  "$folder/bin/python" -m pip --disable-pip-version-check "$@"
}

install_with_uv() {
  find_uv >/dev/null || pip install --quiet --target .venv/uv uv >/dev/null 2>&1 || return 1
  uv=$(find_uv) || return 1
  index=${PIP_INDEX_URL:-$(pip config get global.index-url 2>/dev/null)} || index=
  [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
  "$uv" pip install --quiet --compile-bytecode --python "$folder/bin/python" "$@"
}

make_environment
install_with_uv "$@" || {
  pip install --quiet --upgrade "pip>=25.1" # reads dependency groups
  pip install --quiet "$@"
}
