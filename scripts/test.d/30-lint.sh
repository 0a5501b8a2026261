#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Format, clippy, rustdoc, shell scripts, licences, advisories; then the examples of the documentation.
. "$(dirname "$0")/../env.sh"

scripts/lint.sh
status=$?
scripts/advisories.sh || status=1

# Crates without examples say `doctest = false`.
said=$(CARGO_TERM_QUIET=false cargo test --workspace --doc 2>&1) || { echo "$said"; status=1; }
sed -nE 's/^test (.*) \.\.\. ok$/ok example: \1/p; s/^test (.*) \.\.\. FAILED$/not ok example: \1/p' <<<"$said"
exit "$status"
