#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: screen.sh [lock]. Builds the screen of the core, core/web/app, into core/web/dist/built, which the core embeds;
# does nothing if it is built already. Without Node.js or npm, or a registry of packages, it says so, and the core is
# built without the screen. `lock` writes package-lock.json for what package.json wants, without the name of any host.
set -euo pipefail
. "$(dirname "$0")/env.sh"

APP=$ROOT/core/web/app
BUILT=$ROOT/core/web/dist/built
NODE_WANTED=18

main() {
    if [ "${1:-}" = lock ]; then
        lock
        return
    fi
    [ "${SLUICE_SCREEN:-}" != no ] || return 0
    ! is_built || return 0
    if ! node_is_fine; then
        without "Node.js $NODE_WANTED or newer with npm is missing (make setup)"
        return
    fi
    is_installed || install || { without "its packages cannot be installed (see above)"; return; }
    say "building the screen"
    (cd "$APP" && nice npm run --silent build -- --logLevel warn >&2) || without "it cannot be built (see above)"
}

without() {
    say "goes on without the screen of the core: $1"
}

node_is_fine() {
    local found
    command -v npm >/dev/null && found=$(node --version 2>/dev/null) && version_at_least "${found#v}" "$NODE_WANTED"
}

# True if no source is newer than what was built of it.
is_built() {
    [ -f "$BUILT/index.html" ] && [ -z "$(find "$APP" -name node_modules -prune -o -name test -prune -o \
        -type f -newer "$BUILT/index.html" -print -quit)" ]
}

# npm writes this file when all packages are there.
is_installed() {
    [ "$APP/node_modules/.package-lock.json" -nt "$APP/package-lock.json" ]
}

install() {
    say "installing the packages that build and test the screen"
    (cd "$APP" && npm ci --silent --no-progress >&2)
    touch "$APP/node_modules/.package-lock.json"
}

lock() {
    cd "$APP"
    npm install --package-lock-only
    # Addresses of donations are hosts, too.
    node -e '
        const fs = require("fs");
        const lock = JSON.parse(fs.readFileSync("package-lock.json"));
        for (const one of Object.values(lock.packages)) delete one.funding;
        fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");'
    ! grep -n '://' package-lock.json
}

main "$@"
