#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cargo's RUSTC_WORKSPACE_WRAPPER of development builds (env.sh): clippy's compiler, which lints what it compiles. How a
# library was compiled is kept beside it as NAME-HASH.rustdoc, so that scripts/lint.sh documents it from what is built.
set -euo pipefail

name='' hash='' folder='' is_library=no doc=() previous=''
for argument in "${@:2}"; do
    case $previous:$argument in
    --crate-name:*) name=$argument ;;
    --out-dir:*) folder=$argument ;;
    -C:extra-filename=*) hash=${argument#*=} ;;
    --crate-type:lib) is_library=yes ;;
    *:--test) is_library=no; break ;;
    esac
    case $previous:$argument in
    # Answers to Cargo, what is linked, and where the library goes are not rustdoc's.
    *:--error-format=* | *:--json=* | *:--emit=* | *:--out-dir | --out-dir:* | *:-l | -l:*) ;;
    *) doc+=("$argument") ;;
    esac
    previous=$argument
done
if [ "$is_library" = yes ] && [ -n "$folder" ]; then
    {
        # What `env!` reads; Cargo's job server is gone by then.
        for variable in "${!CARGO_@}" "${!SLUICE_@}" ${OUT_DIR:+OUT_DIR}; do
            [ "$variable" = CARGO_MAKEFLAGS ] || printf '%s=%s\0' "$variable" "${!variable}"
        done
        printf '%s\0' rustdoc -D warnings -Z unstable-options --check "${doc[@]}"
    } >"$folder/$name$hash.rustdoc"
fi
exec clippy-driver "$@"
