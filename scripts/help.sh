#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Explains the targets of the Makefile, from the comments beside them.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "Sluice: a 5G user plane function (UPF)."
echo
echo "First time:  make demo     installs what is missing, builds, and shows it at work"
echo "Then:        make test     proves it"
echo "             make bench    measures it"
echo
echo "Targets:"
sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 12
echo
echo "The command itself: target/release/sluice --help (after make build)"
