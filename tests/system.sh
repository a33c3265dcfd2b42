#!/bin/sh
# Installs what tests need from the system: bubblewrap for the sandbox, PostgreSQL for the fleet, a Chromium without windows for the pages. On Debian as
# root only; elsewhere it names what is missing, and those tests are skipped. In CI nothing may be missing.
set -eu

has() {
  command -v "$1" >/dev/null 2>&1
}

find_missing() {
  has bwrap || printf 'bubblewrap '
  has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || printf 'postgresql '
  [ -n "${TEST_CHROMIUM:-}" ] || has chromium-headless-shell || has "$1" || printf '%s fonts-dejavu-core ' "$1"
}

install() {
  [ -n "$1" ] || return 0
  mkdir -p /etc/postgresql-common # tests make servers of their own: none is to be started here
  [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  echo "installing ${1}with apt-get (about 40 s) ..."
  for _ in 1 2; do
    # shellcheck disable=SC2086 # several words
    if apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends $1 >/dev/null 2>&1; then
      return 0
    fi
    sleep 2
  done
}

if has apt-get && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  install "$(find_missing chromium-headless-shell)" # takes half the time of chromium; older systems do not have it
  install "$(find_missing chromium)"
fi
missing=$(find_missing chromium)
[ -z "$missing" ] || echo "NOT THERE: ${missing}(tests that need it are skipped; in CI they must not be)"
[ -z "$missing" ] || [ -z "${CI:-}" ]
