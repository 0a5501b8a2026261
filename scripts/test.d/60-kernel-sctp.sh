#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SCTP of Linux and of usrsctp, against each other and with several addresses: the kernel of a guest under
# QEMU's software emulation has it, whatever this machine's has. SLUICE_QEMU=no leaves it out.
. "$(dirname "$0")/../env.sh"
. scripts/guest.sh

CHECKS=("gNBs by Linux' SCTP, the core by usrsctp"
    "gNBs by Linux' SCTP, the core by usrsctp, with delay, loss and reordering"
    "the core by Linux' SCTP, gNBs by usrsctp"
    "the core by Linux' SCTP, gNBs by usrsctp, with delay, loss and reordering"
    "both by Linux' SCTP, with two addresses each, of which one fails"
    "strangers are not heard by a core with Linux' SCTP")
OUTSIDE=10.99.0.1
INSIDE=10.99.0.2
UES=16

main() {
    local lack
    if lack=$(what_lacks); then
        printf "ok %s # SKIP $lack\n" "${CHECKS[@]}"
        return
    fi
    scripts/build.sh dev core ran || { echo "not ok the programs can be built"; return; }
    WORK=$(mktemp -d)
    NS=sluice-guest-$$
    trap clean_up EXIT
    trap 'exit 1' INT TERM HUP
    if ! fetch_kernel; then
        printf "ok %s # SKIP Debian's kernel cannot be fetched\n" "${CHECKS[@]}"
        return
    fi
    make_guest
    play
}

# Prints what is not there; fails if all is there.
what_lacks() {
    [ "${SLUICE_QEMU:-}" != no ] || { echo "SLUICE_QEMU=no"; return; }
    guest_lacks tc
}

clean_up() {
    [ -z "${QEMU:-}" ] || kill "$QEMU" 2>/dev/null
    [ -z "${CORE:-}" ] || kill "$CORE" 2>/dev/null
    wait 2>/dev/null
    ip netns del "$NS" 2>/dev/null
    rm -rf "$WORK"
}

# An initramfs: the programs, and what is played.
make_guest() {
    local root=$WORK/root
    guest_root "$root" "$TARGET_DIR/debug/sluice-ran" "$TARGET_DIR/debug/sluice-core" "$(command -v ip)" \
        "$(command -v tc)"
    core_file "$INSIDE" "$OUTSIDE/32" kernel >"$root/etc/core.yaml"
    core_file 10.99.1.1 10.99.0.0/16 kernel ", more_addresses: 10.99.2.1" >"$root/etc/core-two.yaml"
    chmod 600 "$root"/etc/core*.yaml
    ran_file "$OUTSIDE" "$INSIDE" kernel >"$root/etc/ran.yaml"
    two_addresses_file >"$root/etc/ran-two.yaml"
    guest_init >"$root/init"
    pack_guest "$root"
}

core_file() { # listen gnbs sctp [more]
    local at
    echo "plmns: {plmn: 001-01, slices: 1}
tracking_areas: {tac: 1}
control_socket: /tmp/sluice-core-$$.sock
n2: {listen: $1, gnbs: $2, sctp: $3${4:-}}
subscribers:"
    # Half of them with TUAK, half by EAP-AKA'.
    for ((at = 1; at <= UES; at++)); do
        printf "  - {imsi: '%015d', k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf, method: %s}\n" \
            $((1010000000000 + at)) "$([ $((at % 2)) -eq 0 ] && echo 5g_aka || echo eap_aka_prime)"
    done
}

ran_head() { # n3 n2
    echo "gnbs: {count: 2, n3: $1, namespace: current, n2: {$2, plmn: '00101'}}
ues:
  count: $UES
  imsi: '001010000000001'
  namespace: current
  sim: {k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf, devices: false}
steps:"
}

ran_file() { # amf own sctp
    ran_head "$2" "amf: $1, local: $2, sctp: $3, sctp_port: 38500"
    # Both gNBs have addresses of their own. Where a release crosses another, an Error Indication is no fault.
    echo "  - register: {rate: 20, limit: 60s}
  - check: {gnbs_up: 2, registered: $UES, refusals: 0, within: 20s}
  - service: {limit: 60s}
  - check: {services: $UES}
  - idle: {}
  - deregister: {limit: 60s}
  - check: {registered: 0, failures: 0, n2_lost: 0, since: start}"
}

two_addresses_file() {
    ran_head 10.99.1.11 "amf: 10.99.1.1, local: 10.99.1.11, second_local: 10.99.2.11, sctp: kernel"
    echo "  - register: {ues: 1-8, rate: 20, limit: 60s}
  - check: {gnbs_up: 2, registered: 8, within: 20s}
  - run: {command: '/programs/ip link set a1 down'}
  - register: {ues: 9-$UES, rate: 20, limit: 60s}
  - check: {gnbs_up: 2, registered: $UES, within: 20s}
  - service: {limit: 60s}
  - check: {services: $UES, failures: 0, n2_lost: 0, since: start}
  - deregister: {limit: 60s}"
}

guest_init() {
    guest_init_head
    sed "s/INSIDE/$INSIDE/g; s/OUTSIDE/$OUTSIDE/g" <<'INIT'
ip addr add INSIDE/24 dev eth0
# The second gNB's.
ip addr add 10.99.0.3/24 dev eth0
ip link set eth0 up

bad_network() {
    tc qdisc add dev eth0 root netem delay 20ms 8ms loss 3% reorder 15% 50%
    ip link set ifb0 up
    tc qdisc add dev eth0 ingress
    tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0
    tc qdisc add dev ifb0 root netem delay 20ms 8ms loss 3% reorder 15% 50%
}

good_network() {
    tc qdisc del dev eth0 root
    tc qdisc del dev eth0 ingress
    tc qdisc del dev ifb0 root
}

play() { # name file
    sluice-ran --once --json -c "$2" >/tmp/result 2>/tmp/said
    status=$?
    [ $status -eq 0 ] || { tail -n 15 /tmp/said; tail -c 600 /tmp/result; }
    tell "$1" $status
}

start_core() { # file
    sluice-core -c "$1" >/tmp/core.said 2>&1 &
    core=$!
    until [ -S /tmp/sluice-core-*.sock ] || ! kill -0 $core 2>/dev/null; do sleep 0.2; done
    kill -0 $core 2>/dev/null || cat /tmp/core.said
}

tell ready
play 1 /etc/ran.yaml
bad_network
play 2 /etc/ran.yaml
good_network
start_core /etc/core.yaml
tell core
read -r _
bad_network
tell core-behind-bad-network
read -r _
good_network
kill $core
wait $core
ip netns add far
ip link add a1 type veth peer name b1 netns far
ip link add a2 type veth peer name b2 netns far
for one in 1 2; do
    ip addr add 10.99.$one.11/24 dev a$one
    ip addr add 10.99.$one.12/24 dev a$one
    ip link set a$one up
    ip -n far addr add 10.99.$one.1/24 dev b$one
    ip -n far link set b$one up
done
ip -n far link set lo up
rm -f /tmp/*.sock
ip netns exec far /programs/sluice-core -c /etc/core-two.yaml >/tmp/core.said 2>&1 &
until [ -S /tmp/sluice-core-*.sock ]; do sleep 0.2; done
play 5 /etc/ran-two.yaml
tell end
poweroff -f
INIT
}

play() {
    local started=$SECONDS status
    ip netns add "$NS"
    ip -n "$NS" link set lo up
    ip -n "$NS" tuntap add guest mode tap
    ip -n "$NS" addr add "$OUTSIDE/24" dev guest
    # The second gNB's, and a stranger's.
    ip -n "$NS" addr add 10.99.0.4/24 dev guest
    ip -n "$NS" link set guest up
    core_file "$OUTSIDE" 10.99.0.0/24 userspace >"$WORK/core.yaml"
    chmod 600 "$WORK/core.yaml"
    ip netns exec "$NS" "$TARGET_DIR/debug/sluice-core" -c "$WORK/core.yaml" 2>"$WORK/core.said" &
    CORE=$!
    start_guest guest
    wait_for "guest ready" 240
    wait_for "guest 1" 180
    result "$(told 1)" "${CHECKS[0]}"
    wait_for "guest 2" 180
    result "$(told 2)" "${CHECKS[1]}"
    wait_for "guest core" 120
    from_outside
    result $? "${CHECKS[2]}"
    echo go >&3
    wait_for "guest core-behind" 120
    from_outside
    status=$?
    a_stranger
    result $? "${CHECKS[5]}"
    result "$status" "${CHECKS[3]}"
    echo go >&3
    wait_for "guest 5" 180
    result "$(told 5)" "${CHECKS[4]}"
    say "SCTP of Linux in a guest: $((SECONDS - started)) s"
}

# A core by Linux' SCTP allows one address; from another one nothing comes back.
from_outside() {
    ran_file "$INSIDE" "$OUTSIDE" userspace >"$WORK/ran.yaml"
    sed -i 's/count: 2, n3/count: 1, n3/; s/gnbs_up: 2/gnbs_up: 1/' "$WORK/ran.yaml"
    run_outside
}

a_stranger() {
    ran_file "$INSIDE" 10.99.0.4 userspace >"$WORK/ran.yaml"
    sed -i 's/count: 2, n3/count: 1, n3/' "$WORK/ran.yaml"
    ! run_outside 2>"$WORK/stranger" && grep -q "did not answer\|refused it" "$WORK/stranger"
}

run_outside() {
    ip netns exec "$NS" "$TARGET_DIR/debug/sluice-ran" --once --json -c "$WORK/ran.yaml" \
        >"$WORK/ran.json" 2>"$WORK/ran.said" || { tail -n 15 "$WORK/ran.said" >&2; return 1; }
}

# What a guest said of a run.
told() { # number
    sed -n "s/^guest $1 \([0-9]*\).*/\1/p" "$WORK/guest.log" | tr -d '\r' | head -n 1
}

result() { # status name
    if [ "${1:-1}" = 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2"
        tail -n 40 "$WORK/guest.log" | cut -c1-300 >&2
    fi
}

main
