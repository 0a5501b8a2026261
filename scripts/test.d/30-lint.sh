#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a reviewer should not have to say: format, clippy, rustdoc, shell scripts, licences, advisories.
"$(dirname "$0")/../lint.sh"
status=$?
"$(dirname "$0")/../advisories.sh"
exit "$status"
