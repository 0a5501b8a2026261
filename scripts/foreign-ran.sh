#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# RAN simulators of others against this build's core and UPF. docs/operator/interop.md says how to get and build them.
# They are in a guest, whose kernel has SCTP; core and UPF in a network namespace outside, a server in a second one:
#
#   guest                              namespace NS              namespace NS-dn
#     eth0  198.18.2.11, .12, .13 ---- n2  198.18.2.1  core
#     eth1  198.18.3.11, .12, .13 ---- n3  198.18.3.1  UPF (a bridge between)
#                                      n6  198.18.6.1  UPF ----- n6  198.18.6.2
set -o pipefail
. "$(dirname "$0")/env.sh"
. scripts/guest.sh
. scripts/foreign-ran/judge.sh
. scripts/foreign-ran/ueransim.sh
. scripts/foreign-ran/packetrusher.sh

# UEs: the third by EAP-AKA'. Keys of tests.
UES=8
K=465b5ce8b199b49faa5f0a2ee238a6bc
OPC=e8ed289deba952e4283b54e88e6183ca
# The key of TS 33.501, C.4.3.1, whose public half the simulators have by default.
HOME_NETWORK_KEY=c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d
# An idle UE registers again after so long.
T3512_S=120

usage() {
    cat >&2 <<'USAGE'
usage: scripts/foreign-ran.sh UERANSIM PACKETRUSHER
       scripts/foreign-ran.sh --by-hand UERANSIM PACKETRUSHER

UERANSIM      the folder with nr-gnb, nr-ue and nr-cli, or - to leave it out
PACKETRUSHER  the program, or - to leave it out
--by-hand     plays nothing: each line of standard input is a command for the guest
KEEP=FOLDER   in the environment: captures and logs stay there
USAGE
    exit 2
}

main() {
    local lack
    BY_HAND=
    [ "${1:-}" != --by-hand ] || { BY_HAND=yes; shift; }
    [ $# -eq 2 ] || usage
    UERANSIM=$1 PACKETRUSHER=$2
    check_programs
    ! lack=$(guest_lacks jq tshark dumpcap ethtool) || lacking "$lack"
    scripts/build.sh dev upf core || exit
    fetch_kernel || lacking "Debian's kernel cannot be fetched: linux-image-amd64"
    WORK=$(mktemp -d)
    NS=foreign-$$
    FAILED=0
    trap clean_up EXIT
    trap 'exit 1' INT TERM HUP
    make_network
    start_ours
    make_guest
    start_guest n2 guest3
    wait_for "guest ready" 240 || { tail -n 20 "$WORK/guest.log" >&2; exit 1; }
    if [ -n "$BY_HAND" ]; then
        by_hand
    else
        [ "$UERANSIM" = - ] || play_ueransim
        [ "$PACKETRUSHER" = - ] || play_packetrusher
        judge_ours
    fi
    [ "$FAILED" -eq 0 ]
}

check_programs() {
    local program
    if [ "$UERANSIM" != - ]; then
        for program in nr-gnb nr-ue nr-cli; do
            [ -x "$UERANSIM/$program" ] || lacking "$UERANSIM has no program $program: build UERANSIM"
        done
    fi
    [ "$PACKETRUSHER" = - ] || [ -x "$PACKETRUSHER" ] || lacking "$PACKETRUSHER is no program: build PacketRusher"
}

clean_up() {
    local pid
    for pid in ${QEMU:-} ${FOLLOWER:-} ${CAPTURES:-} ${CORE:-} ${UPF:-}; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    ip netns del "$NS" 2>/dev/null
    ip netns del "$NS-dn" 2>/dev/null
    if [ -n "${KEEP:-}" ]; then
        rm -rf "$WORK/root" "$WORK/initramfs" "$WORK/to-guest"
        mkdir -p "$KEEP" && cp -r "$WORK/." "$KEEP"
    fi
    rm -rf "$WORK"
}

make_network() {
    local at
    for at in "$NS" "$NS-dn"; do
        ip netns add "$at"
        ip -n "$at" link set lo up
    done
    # Or a capture has datagrams that the kernel splits only later.
    ip netns exec "$NS" ethtool -K lo tx-udp-segmentation off >/dev/null
    ip -n "$NS" tuntap add n2 mode tap
    ip -n "$NS" tuntap add guest3 mode tap
    # What the UPF sends passes by captures of its own device; its peer sees it.
    ip -n "$NS" link add name n3 type veth peer name upf3
    ip -n "$NS" link add name bridge3 type bridge
    ip -n "$NS" link set upf3 master bridge3
    ip -n "$NS" link set guest3 master bridge3
    for at in n2 n3 upf3 guest3 bridge3; do ip -n "$NS" link set "$at" up; done
    ip -n "$NS" addr add 198.18.2.1/24 dev n2
    ip link add name n6 netns "$NS" type veth peer name n6 netns "$NS-dn"
    # The UPF reads what the other kernel has sent: checksums must be complete, packets single.
    for at in "$NS n3" "$NS upf3" "$NS n6" "$NS-dn n6"; do
        ip netns exec "${at% *}" ethtool -K "${at#* }" tx off tso off gso off gro off >/dev/null
        ip -n "${at% *}" link set "${at#* }" up
    done
    ip -n "$NS-dn" addr add 198.18.6.2/24 dev n6
    ip -n "$NS-dn" route add 10.60.0.0/16 via 198.18.6.1
}

upf_file() {
    cat <<UPF
n4: {listen: 127.0.0.1, peers: 127.0.0.2}
ports:
  - {name: n3, device: "net_af_packet0,iface=n3"}
  - {name: n6, device: "net_af_packet1,iface=n6"}
interfaces:
  - {name: n3, port: n3, addresses: 198.18.3.1/24, n3: {network_instance: access}}
  - {name: n6, port: n6, addresses: 198.18.6.1/24, gateway: 198.18.6.2, n6: {network_instance: internet}}
pools:
  - {network_instance: internet, prefix: 10.60.0.0/16, allocate: true}
dpdk: {memory_mb: 128, mbufs: 16383}
limits: {sessions: 1000}
control_socket: $WORK/upf.sock
UPF
}

core_file() {
    local at
    cat <<CORE
plmns: {plmn: 001-01, slices: 1}
tracking_areas: {tac: 1}
timers: {t3512_s: $T3512_S}
network_name: {full: Sluice}
n2: {listen: 198.18.2.1, gnbs: 198.18.2.0/24}
n4: {listen: 127.0.0.2}
upfs: {n4: 127.0.0.1, access_instance: access}
data_networks: {name: internet, ipv6: false}
control_socket: $WORK/core.sock
home_network_keys: {id: 1, profile: a, file: $WORK/home-network-key}
subscribers:
CORE
    for ((at = 1; at <= UES; at++)); do
        printf '  - {imsi: "%s", k: %s, opc: %s, method: %s, networks: {name: internet}}\n' "$(imsi "$at")" \
            "$K" "$OPC" "$([ "$at" -eq 3 ] && echo eap_aka_prime || echo 5g_aka)"
    done
}

imsi() { # ue
    printf '00101%010d' "$1"
}

# UPF, core, and captures of N2, N3 and N4.
start_ours() {
    local at
    upf_file >"$WORK/upf.yaml"
    core_file >"$WORK/core.yaml"
    echo "$HOME_NETWORK_KEY" >"$WORK/home-network-key"
    chmod 600 "$WORK/core.yaml" "$WORK/home-network-key"
    for at in n2 upf3 lo; do
        ip netns exec "$NS" dumpcap -q -i "$at" -w "$WORK/$at.pcapng" 2>/dev/null &
        CAPTURES="${CAPTURES:-} $!"
    done
    ip netns exec "$NS" "$TARGET_DIR/debug/sluice" upf -c "$WORK/upf.yaml" 2>"$WORK/upf.log" &
    UPF=$!
    ip netns exec "$NS" "$TARGET_DIR/debug/sluice-core" -c "$WORK/core.yaml" 2>"$WORK/core.log" &
    CORE=$!
    within 30 associated || { tail -n 20 "$WORK/upf.log" "$WORK/core.log" >&2; exit 1; }
}

make_guest() {
    local root=$WORK/root programs=()
    [ "$UERANSIM" = - ] || programs+=("$UERANSIM"/nr-{gnb,ue,cli})
    # Whatever its file is called.
    [ "$PACKETRUSHER" = - ] || { ln -s "$(realpath "$PACKETRUSHER")" "$WORK/packetrusher"; programs+=("$WORK/packetrusher"); }
    guest_root "$root" "$(command -v ip)" "${programs[@]}"
    # UERANSIM's UE asks a shell for programs, which busybox' would take for its own.
    install -D "$(readlink -f "$(command -v dash)")" "$root/bin/sh"
    mkdir -p "$root/etc/iproute2" "$root/usr/share" "$root/usr/lib"
    echo "254 main" >"$root/etc/iproute2/rt_tables"
    ueransim_files "$root/etc"
    packetrusher_files "$root/etc"
    guest_init >"$root/init"
    pack_guest "$root"
}

# The guest runs each line that it is told, and says between which lines stands what came of it.
guest_init() {
    guest_init_head
    cat <<'INIT'
# A UE's device shall send what is asked of it alone: no Router Solicitations.
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set eth0 up
ip link set eth1 up
for host in 11 12 13; do
    ip addr add 198.18.2.$host/24 dev eth0
    ip addr add 198.18.3.$host/24 dev eth1
done
stty -echo
tell ready
number=0
while read -r line; do
    number=$((number + 1))
    sh -c "$line" >/tmp/said 2>&1 </dev/null
    status=$?
    tell begin $number
    cat /tmp/said
    tell done $number $status
done
INIT
}

# Runs a command in the guest: its output, its status.
inside() { # command
    local number
    number=$(($(cat "$WORK/asked" 2>/dev/null || echo 0) + 1))
    echo "$number" >"$WORK/asked"
    printf '%s\n' "$1" >&3
    wait_for "guest done $number " 120 || return
    sed -n "/^guest begin $number/,/^guest done $number /p" "$WORK/guest.log" | tr -d '\r' | sed '1d;$d' | sed '$d'
    return "$(sed -n "s/^guest done $number \([0-9]*\).*/\1/p" "$WORK/guest.log")"
}

by_hand() {
    local line
    say "captures, logs, control sockets: $WORK; namespaces $NS and $NS-dn"
    while read -r line; do
        inside "$line"
        echo "status $?"
    done
}

main "$@"
