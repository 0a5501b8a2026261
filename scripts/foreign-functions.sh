#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Network functions of free5GC among this build's: a UE registers, has a session, pings, is idle, comes back and leaves,
# with each mixture of functions. docs/operator/interop.md says how to get and build them.
#
#   namespace RAN                  namespace NET                                   namespace DN
#     gNB, UE   N2 198.18.2.11 ---- 198.18.2.1   core; functions at 127.0.0.x, and
#               N3 198.18.3.11 ---- 198.18.3.1   a guest's at 198.18.9.2
#                                   198.18.6.1   UPF -------------------------- N6 198.18.6.2
set -o pipefail
. "$(dirname "$0")/env.sh"
. scripts/guest.sh
. scripts/foreign-functions/files.sh

usage() {
    cat >&2 <<'USAGE'
usage: scripts/foreign-functions.sh FOLDER [MIXTURE]

MIXTURE       one of those that are printed, such as "AUSF and UDM". Default: all
FOLDER        programs of free5GC: nrf, ausf, udm, udr, nssf, pcf, smf; and amf, linked statically, if it is to be tried
              (in a guest, whose kernel has SCTP)
MONGOD        in the environment: a command that serves MongoDB's protocol at 127.0.0.1:27017. Default: mongod
KEEP=FOLDER   in the environment: files and logs stay there
USAGE
    exit 2
}

main() {
    if [ $# -lt 1 ] || [ $# -gt 2 ] || [ ! -x "$1/nrf" ]; then usage; fi
    ONLY=${2:-}
    THEIRS=$(cd "$1" && pwd)
    python3 -c 'import pymongo' 2>/dev/null || lacking "pymongo is missing: apt install python3-pymongo"
    can_be_root || lacking "needs root"
    scripts/build.sh dev upf core ran || exit
    PROGRAMS=$TARGET_DIR/debug
    WORK=$(mktemp -d)
    NS=foreign-$$ RAN=foreign-ran-$$ DN=foreign-dn-$$
    STARTED=() FAILED=0
    trap clean_up EXIT
    trap 'exit 1' INT TERM HUP
    make_network
    mixture "AUSF" "ausf" own
    mixture "AUSF and UDM" "udm ausf" own
    mixture "NSSF" "nssf" own
    mixture "NRF" "nrf"
    mixture "NRF and UDR" "nrf udr"
    mixture "NRF, UDR and UDM" "nrf udr udm"
    mixture "NRF, UDR and PCF" "nrf udr pcf"
    mixture "NRF, UDR, UDM, AUSF, NSSF and PCF" "nrf udr udm ausf nssf pcf"
    mixture "all but AMF and UPF" "nrf udr udm ausf nssf pcf smf"
    smf_among_ours
    amf_among_ours
    [ "$FAILED" -eq 0 ]
}

clean_up() {
    stop_all
    local name
    for name in "$NS" "$RAN" "$DN"; do ip netns delete "$name" 2>/dev/null; done
    [ -z "${KEEP:-}" ] || cp -r "$WORK/." "$KEEP"
    rm -rf "$WORK"
}

link() { # namespace interface namespace
    ip link add "$2" netns "$1" type veth peer name "$2" netns "$3"
    local at
    for at in "$1" "$3"; do
        ip -n "$at" link set "$2" up
        ip netns exec "$at" ethtool -K "$2" tx off tso off gso off gro off >/dev/null
    done
}

make_network() {
    local name
    for name in "$NS" "$RAN" "$DN"; do
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
    link "$RAN" n2 "$NS"
    link "$RAN" n3 "$NS"
    link "$NS" n6 "$DN"
    ip -n "$RAN" address add 198.18.2.11/24 dev n2
    ip -n "$NS" address add 198.18.2.1/24 dev n2
    ip -n "$RAN" address add 198.18.3.11/24 dev n3
    ip -n "$DN" address add 198.18.6.2/24 dev n6
    ip -n "$DN" route add 10.60.0.0/16 via 198.18.6.1
    ip -n "$RAN" route add 198.18.9.0/24 via 198.18.2.1
    ip netns exec "$NS" sysctl -qw net.ipv4.ip_forward=1
}

# Starts a program in the namespace of the core; its output is beside the other files.
start() { # name command...
    ip netns exec "$NS" "${@:2}" >"$WORK/$1.log" 2>&1 &
    STARTED+=($!)
}

stop_all() {
    local at
    for ((at = ${#STARTED[@]} - 1; at >= 0; at--)); do kill "${STARTED[at]}" 2>/dev/null; done
    # Some of theirs wait for requests that nobody answers any more.
    for ((at = 0; at < 30; at++)); do
        kill -0 "${STARTED[@]}" 2>/dev/null || break
        sleep 0.1
    done
    kill -9 "${STARTED[@]}" 2>/dev/null
    wait "${STARTED[@]}" 2>/dev/null
    STARTED=()
}

# A port listens, within two minutes: a guest boots slowly.
listens() { # address port
    local until=$((SECONDS + 120))
    while [ "$SECONDS" -lt "$until" ]; do
        ip netns exec "$NS" timeout 1 bash -c ": </dev/tcp/$1/$2" 2>/dev/null && return
        sleep 0.1
    done
    return 1
}

start_theirs() { # NRF's-root function...
    local name root=$1
    shift
    case " $* " in
        *" nrf "* | *" udr "* | *" pcf "*)
            mkdir -p "$WORK/db"
            # shellcheck disable=SC2086 # a command with its arguments
            start mongod ${MONGOD:-mongod --dbpath "$WORK/db"}
            listens 127.0.0.1 27017 && ip netns exec "$NS" python3 scripts/foreign-functions/subscriber.py
            ;;
    esac
    for name; do
        their_file "$name" "$root" >"$WORK/$name.yaml"
        start "$name" env -C "$WORK" "$THEIRS/$name" -c "$WORK/$name.yaml"
        listens "$(their_address "$name")" 8000
    done
}

start_core() { # others [NRF's root]
    core_file "$@" >"$WORK/core.yaml"
    chmod 600 "$WORK/core.yaml"
    start core env SLUICE_LOG=debug "$PROGRAMS/sluice-core" -c "$WORK/core.yaml"
    listens 127.0.0.20 7777
}

# One UE's day with these functions of theirs, and the others of ours on one thread.
mixture() { # name functions [own: the NRF is ours]
    local others root=http://127.0.0.10:8000
    is_wanted "$1" || return
    others=$(tr ' ' ',' <<<"$2")
    if [ "${3:-}" = own ]; then
        root=http://127.0.0.20:7777
        start_core "$others"
    fi
    # shellcheck disable=SC2086 # a list
    start_theirs "$root" $2
    start_upf "$others"
    [ "${3:-}" = own ] || start_core "$others" "$root"
    play "$1" 198.18.2.1 udp
}

start_upf() { # others
    upf_file "$1" >"$WORK/upf.yaml"
    start upf "$PROGRAMS/sluice-upf" -c "$WORK/upf.yaml"
}

# Their SMF, and all others of ours: the AMF in the core, the rest in a program without one.
smf_among_ours() {
    local root=http://127.0.0.19:7777
    is_wanted "SMF alone" || return
    alone_file 127.0.0.19 "nrf, ausf, udm, udr, nssf, pcf" >"$WORK/alone.yaml"
    chmod 600 "$WORK/alone.yaml"
    start alone "$PROGRAMS/sluice-core" nf nrf ausf udm udr nssf pcf --alone --config "$WORK/alone.yaml"
    listens 127.0.0.19 7777
    start_upf smf
    start_theirs "$root" smf
    start_core nrf,ausf,udm,udr,nssf,smf,pcf "$root"
    play "SMF alone" 198.18.2.1 udp
}

# Their AMF in a guest, and all others of ours.
amf_among_ours() {
    local lack
    is_wanted "AMF alone" || return
    [ -x "$THEIRS/amf" ] || { echo "ok AMF alone # SKIP it is not there"; return; }
    ! lack=$(guest_lacks tr) || { echo "ok AMF alone # SKIP $lack"; return; }
    fetch_kernel || { echo "ok AMF alone # SKIP Debian's kernel cannot be fetched"; return; }
    ip -n "$NS" tuntap add guest mode tap
    ip -n "$NS" address add 198.18.9.1/24 dev guest
    ip -n "$NS" link set guest up
    alone_file 198.18.9.1 "nrf, ausf, udm, udr, nssf, smf, pcf" >"$WORK/alone.yaml"
    chmod 600 "$WORK/alone.yaml"
    start alone env SLUICE_LOG=debug "$PROGRAMS/sluice-core" nf nrf ausf udm udr nssf smf pcf --alone --config "$WORK/alone.yaml"
    listens 198.18.9.1 7777
    start_upf ""
    guest_root "$WORK/root" "$(command -v ip)" "$THEIRS/amf"
    their_file amf http://198.18.9.1:7777 >"$WORK/root/etc/amf.yaml"
    amf_init >"$WORK/root/init"
    pack_guest "$WORK/root"
    start_guest guest
    STARTED+=("$QEMU")
    listens 198.18.9.2 8000
    play "AMF alone" 198.18.9.2 ip
}

is_wanted() { # mixture
    [ -z "$ONLY" ] || [ "$ONLY" = "$1" ]
}

# The SMF has found the UPF, within 60 s.
has_upf() {
    local i
    for ((i = 0; i < 600; i++)); do
        ! grep -q "association .* is up" "$WORK/upf.log" || return 0
        sleep 0.1
    done
}

play() { # name AMF over
    has_upf
    ran_file "$2" "$3" >"$WORK/ran.yaml"
    if timeout 150 "$PROGRAMS/sluice-ran" --once --json -c "$WORK/ran.yaml" >"$WORK/ran.json" 2>"$WORK/ran.log"; then
        echo "ok free5GC's $1"
    else
        echo "not ok free5GC's $1"
        FAILED=$((FAILED + 1))
        grep FAILED "$WORK/ran.log" | head -n 5 >&2
    fi
    stop_all
    [ -z "${KEEP:-}" ] || cp -r "$WORK" "$KEEP/$(tr -c 'A-Za-z\n' - <<<"$1")"
    rm -rf "$WORK/db"
}

main "$@"
