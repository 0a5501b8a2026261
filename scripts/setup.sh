#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing to build, test and show Sluice. Run again, it only looks (0.1 s).
set -euo pipefail
. "$(dirname "$0")/env.sh"

# What compiles: a C compiler for the shims, DPDK, libclang for its bindings, SCTP in user space, SQLite.
BUILD_PACKAGES=(build-essential pkg-config libdpdk-dev dpdk-dev libclang-dev libusrsctp-dev
    libsqlite3-dev curl ca-certificates)
# What tests, demo and benchmarks use: traffic, judges, and tools to look at both and at scripts.
# The font writes into plots of the lab. Tests start PostgreSQL and Redis servers of their own.
TOOL_PACKAGES=(iproute2 iputils-ping traceroute iperf3 tshark tcpdump ethtool jq nginx-light fonts-dejavu-core shellcheck
    postgresql redis-server redis-tools)
# A guest whose kernel has SCTP, for scripts/test.d/60-kernel-sctp.sh, which fetches the kernel itself.
GUEST_PACKAGES=(qemu-system-x86 busybox-static)
# What builds the screen of the core, and the browser that tests it. Another Node.js than Debian's is fine.
NODE_PACKAGES=(nodejs npm)
BROWSER_PACKAGES=(chromium)

DPDK_WANTED=22.11
# Where the rustup project keeps its installer (sh.rustup.rs is a script that fetches it there).
RUSTUP_INSTALLER=https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu/rustup-init

main() {
    local packages=()
    mapfile -t packages < <(missing_packages "${BUILD_PACKAGES[@]}" "${TOOL_PACKAGES[@]}")
    [ "${#packages[@]}" -eq 0 ] || install_packages "${packages[@]}"
    install_guest
    install_screen
    check_dpdk
    rust_is_fine || install_rust
}

# Only one test needs them, which says so where they are not there.
install_guest() {
    local packages=()
    [ "$(uname -m)" = x86_64 ] && [ "${SLUICE_QEMU:-}" != no ] || return 0
    mapfile -t packages < <(missing_packages "${GUEST_PACKAGES[@]}")
    [ "${#packages[@]}" -eq 0 ] || (install_packages "${packages[@]}") ||
        say "goes on without ${packages[*]}: the test with a guest is left out"
}

# The core is built without its screen where they are not there.
install_screen() {
    local packages=()
    [ "${SLUICE_SCREEN:-}" != no ] || return 0
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        packages+=("${NODE_PACKAGES[@]}")
    fi
    command -v chromium >/dev/null || packages+=("${BROWSER_PACKAGES[@]}")
    [ "${#packages[@]}" -eq 0 ] || (install_packages "${packages[@]}") ||
        say "goes on without ${packages[*]}: the core has no screen, or its test is left out"
}

missing_packages() { # package...
    command -v dpkg-query >/dev/null || return 0
    # One query for all; a package that dpkg never heard of is only in its error messages.
    local installed
    installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' \
        "$@" 2>/dev/null | sed -n 's/^ii *//p') || true
    printf '%s\n' "$@" |
        grep -vxF -f <(printf '%s\n' "$installed" "") || true
}

install_packages() {
    can_be_root || lacking "packages are missing, and installing them needs root or sudo. As root, run:
    apt-get install $*"
    say "installing: $*"
    local had_nginx=yes had_redis=yes
    command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || had_nginx=no
    command -v redis-server >/dev/null || had_redis=no
    forbid_services
    forbid_clusters
    as_root apt-get update -qq || lacking "the package lists cannot be fetched (see above)"
    # No questions (tshark has one), no services, progress of each package.
    as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install -y -q --no-install-recommends "$@" >&2 ||
        lacking "these packages could not be installed: $*"
    allow_services
    # The demo runs an nginx of its own in a namespace; the system's must not start at boot.
    if [ "$had_nginx" = no ] && [ -d /run/systemd/system ]; then
        as_root systemctl disable --now --quiet nginx || true
    fi
    # Nor must the system's Redis; one that was there before stays as it is.
    if [ "$had_redis" = no ] && [ -d /run/systemd/system ]; then
        as_root systemctl disable --now --quiet redis-server || true
    fi
}

POLICY=/usr/sbin/policy-rc.d
policy_is_ours=no

# Debian starts a service as soon as it is installed, unless this file says no.
forbid_services() {
    [ ! -e "$POLICY" ] || return 0
    trap allow_services EXIT
    policy_is_ours=yes
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$POLICY" >/dev/null
    as_root chmod 755 "$POLICY"
}

CLUSTERS=/etc/postgresql-common/createcluster.conf

# Debian makes a cluster as soon as it installs the server, unless this file says no. One that is there stays as it is.
forbid_clusters() {
    [ ! -e "$CLUSTERS" ] || return 0
    as_root mkdir -p "$(dirname "$CLUSTERS")"
    printf '# Of Sluice: tests have servers of their own.\ncreate_main_cluster = false\n' | as_root tee "$CLUSTERS" >/dev/null
}

allow_services() {
    [ "$policy_is_ours" = yes ] || return 0
    policy_is_ours=no
    as_root rm -f "$POLICY"
}

check_dpdk() {
    pkg-config --atleast-version="$DPDK_WANTED" libdpdk 2>/dev/null && return
    lacking "DPDK $DPDK_WANTED or newer is needed (found: $(pkg-config --modversion libdpdk 2>/dev/null ||
        echo none)). Debian 12 and Ubuntu 24.04 have it as libdpdk-dev."
}

# The distribution's rustup if it has one, else the project's own installer. For this user only.
install_rust() {
    say "installing Rust (at least $(rust_wanted) is needed; found: $(cargo --version 2>/dev/null || echo none))"
    if ! command -v rustup >/dev/null; then
        if [ -n "$(apt-cache madison rustup 2>/dev/null)" ]; then
            install_packages rustup
        else
            run_rustup_installer
        fi
    fi
    . "$ROOT/scripts/env.sh"
    rustup toolchain install "$(rust_pinned)" --profile minimal --component clippy --component rustfmt >&2 ||
        lacking "rustup could not install Rust (see above)"
    . "$ROOT/scripts/env.sh"
    rust_is_fine || lacking "Rust $(rust_wanted) or newer is needed; rustup installed $(cargo --version)"
}

run_rustup_installer() {
    local folder
    folder=$(mktemp -d)
    fetch "$RUSTUP_INSTALLER" "$folder/rustup-init"
    fetch "$RUSTUP_INSTALLER.sha256" "$folder/sha256"
    [ "$(sha256sum <"$folder/rustup-init" | cut -d' ' -f1)" = "$(cut -d' ' -f1 "$folder/sha256")" ] ||
        lacking "Rust's installer from $RUSTUP_INSTALLER is damaged"
    chmod +x "$folder/rustup-init"
    "$folder/rustup-init" -y -q --no-modify-path --default-toolchain none >&2 ||
        lacking "Rust's installer failed (see above)"
    rm -r "$folder"
}

fetch() { # address file
    curl --proto '=https' --tlsv1.2 -sSfL "$1" -o "$2" || lacking "$1 cannot be fetched (see above)"
}

main
