#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes for FUZZ_SECONDS (60) in all, with seeds that no run had before. `make fuzz` is guided by
# coverage, and takes longer to build; this runs the same targets on mutants of the kept inputs.
. "$(dirname "$0")/../env.sh"

targets=(pfcp_parse gtpu_parse packets n4_endpoint packet_path session_machine control_core config)
each_s=$((${FUZZ_SECONDS:-60} * 2 / ${#targets[@]}))

fuzz() { # target
    local said
    if said=$(SLUICE_SECONDS=$each_s cargo test -q -p sluice-fuzz --test targets -- --exact "$1" \
        --show-output 2>&1) && grep -q "$1: .* mutants" <<<"$said"; then
        echo "ok fuzz $(grep -m 1 -o "$1: .*" <<<"$said")"
    else
        printf '%s\nnot ok fuzz %s\n' "$said" "$1"
    fi
}

# Two at a time.
for target in "${targets[@]}"; do
    fuzz "$target" &
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
done
wait
