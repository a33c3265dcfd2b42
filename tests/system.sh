#!/bin/sh
# Installs what tests need from the system: bubblewrap for the sandbox, chromium for the pages. On Debian as root only;
# elsewhere it names what is missing, and those tests are skipped. In CI nothing may be missing.
set -eu

find_missing() {
  command -v bwrap >/dev/null 2>&1 || printf 'bubblewrap '
  [ -n "${TEST_CHROMIUM:-}" ] || command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
    printf 'chromium fonts-dejavu-core '
}

missing=$(find_missing)
[ -n "$missing" ] || exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "installing ${missing}with apt-get (about 40 s) ..."
  export DEBIAN_FRONTEND=noninteractive
  for _ in 1 2 3; do
    # shellcheck disable=SC2086 # several words
    if apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1; then
      break
    fi
    sleep 2
  done
fi
missing=$(find_missing)
[ -z "$missing" ] || echo "NOT THERE: ${missing}(tests that need it are skipped; in CI they must not be)"
[ -z "$missing" ] || [ -z "${CI:-}" ]
