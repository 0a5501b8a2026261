#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: install.sh. Builds for production and installs programs, manual pages, shell completion, the systemd
# units and example files below PREFIX (/usr/local); DESTDIR goes before every path, for packages.
set -euo pipefail
. "$(dirname "$0")/env.sh"

prefix=${PREFIX:-/usr/local}
dest=${DESTDIR:-}
programs=(upf core box demo load ran bench lab)

scripts/build.sh release "${programs[@]}"
built=$TARGET_DIR/release

put() { # mode source destination
    install -D -m "$1" "$2" "$dest$3"
    echo "$3"
}

say "installing below $dest$prefix"
for program in sluice "${programs[@]/#/sluice-}"; do
    put 755 "$built/$program" "$prefix/bin/$program"
done
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$built/sluice" man --out "$pages/man"
for page in "$pages"/man/*.1; do
    put 644 "$page" "$prefix/share/man/man1/$(basename "$page")"
done
"$built/sluice" completion bash >"$pages/bash"
"$built/sluice" completion zsh >"$pages/zsh"
"$built/sluice" completion fish >"$pages/fish"
put 644 "$pages/bash" "$prefix/share/bash-completion/completions/sluice"
put 644 "$pages/zsh" "$prefix/share/zsh/site-functions/_sluice"
put 644 "$pages/fish" "$prefix/share/fish/vendor_completions.d/sluice.fish"
for daemon in upf core; do
    sed "s,@BINDIR@,$prefix/bin," "packaging/sluice-$daemon.service" >"$pages/unit"
    put 644 "$pages/unit" "$prefix/lib/systemd/system/sluice-$daemon.service"
    put 644 "docs/$daemon.yaml" "$prefix/share/doc/sluice/$daemon.yaml"
done
put 644 docs/examples/upf.minimal.yaml "$prefix/share/doc/sluice/upf.minimal.yaml"
echo
echo "Next: install -D $prefix/share/doc/sluice/upf.minimal.yaml /etc/sluice/upf.yaml; change its addresses"
echo "      (all keys: $prefix/share/doc/sluice/upf.yaml); sluice upf -c /etc/sluice/upf.yaml --check"
echo "      systemctl enable --now sluice-upf"
echo "      Core: the same with the short file at the top of core.yaml, and sluice-core"
