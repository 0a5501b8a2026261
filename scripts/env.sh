# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts: the project's folder, Rust on the PATH, and messages.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit 3

# shellcheck disable=SC2034 # used by those who source this
TARGET_DIR=${CARGO_TARGET_DIR:-$ROOT/target}

# The lowest Rust that builds this: rust-version in Cargo.toml.
rust_wanted() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml
}

# The Rust that is used where rustup is there: rust-toolchain.toml.
rust_pinned() {
    sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml
}

# True if cargo is there and new enough.
rust_is_fine() {
    local found
    found=$(cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
    [ -n "$found" ] && version_at_least "${found%%-*}" "$(rust_wanted)"
}

version_at_least() { # found wanted
    [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }

can_be_root() {
    [ "$(id -u)" -eq 0 ] ||
        { command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# The environment lacks something: exit code 3, as everywhere in Sluice.
lacking() {
    printf 'sluice: %s\n' "$*" >&2
    exit 3
}

# Rust of rustup comes before the distribution's, which is often too old; rustup itself chooses what
# rust-toolchain.toml names.
choose_rust() {
    local bin=${CARGO_HOME:-$HOME/.cargo}/bin
    case :$PATH: in
        *:"$bin":*) ;;
        *) [ ! -d "$bin" ] || export PATH="$bin:$PATH" ;;
    esac
}

# Installs what is missing, and finds the Rust that was just installed.
set_up() {
    scripts/setup.sh || return
    choose_rust
}

# Development builds go through clippy's compiler, which lints what it compiles: `make test` reads no crate twice.
lint_while_compiling() {
    ! clippy-driver --version >/dev/null 2>&1 || export RUSTC_WORKSPACE_WRAPPER=$ROOT/scripts/rustc.sh
}

choose_rust
