#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo does all that it promises, and leaves nothing behind: at its end, when it is interrupted
# at any moment, when it is killed and another one follows, and without root.
. "$(dirname "$0")/../env.sh"

SLUICE=$TARGET_DIR/debug/sluice
# Of 2 MiB: the demo over XDP sockets takes 128, and the tables of tests beside it take those that are free.
DEMO_HUGE_PAGES=512
POOL=/proc/sys/vm/nr_hugepages
# The steps of TS 23.502, 4.2.2.2.2 and 4.3.2.2.1, for each of three UEs; then one service request as a UE had something
# to say, and one of each as it was called; both handovers; a flow that comes and goes.
# shellcheck disable=SC2016 # The variables are jq's.
LADDER='all(.core[]; .call_flow as $ladder | def steps($of): [$ladder[] | select(contains($of))] | length;
    all("UE   -> AMF   Registration Request", "AMF  -> UE    Authentication Request", "AMF  -> UE    Security Mode Command",
        "AMF  -> UE    Registration Accept", "UE   -> AMF   Registration Complete",
        "SMF  -> UPF   N4 Session Establishment Request", "SMF  -> UE    PDU Session Establishment Accept"; steps(.) == 3)
    and steps("UE   -> AMF   Service Request") >= 4 and steps("gNB  -> AMF   Path Switch Request") >= 3
    and steps("gNB  -> AMF   Handover Notify") >= 3 and steps("SMF  -> UE    PDU Session Modification Command") >= 6)'
# What the pool of huge pages goes back to; empty if it is as it was.
HUGE_PAGES=

main() {
    scripts/build.sh dev demo upf core || { echo "not ok the demo can be built"; return; }
    without_root
    local checks=("the demo ends well" "no packet is lost" "no check fails" "the core serves every UE to its end" "the demo leaves nothing"
        "tshark reads N2, and N1 when it is deciphered" "the ladder has each step of each UE"
        "beside two busy loops, and with the UPF held up, the demo ends well" "what the host lost is told apart from what the UPF lost"
        "the demo ends well over XDP sockets" "the demo ends well over memif" "an interrupted demo ends soon" "an interrupted demo leaves nothing"
        "a demo whose terminal is gone leaves nothing" "what a killed demo left is swept by the next one")
    if [ "$(id -u)" -ne 0 ]; then
        printf 'ok %s # SKIP needs root\n' "${checks[@]}"
        return
    fi
    WORK=$(mktemp -d)
    trap 'return_huge_pages; rm -rf "$WORK"' EXIT
    whole
    beside_others
    over_xdp_sockets
    over_memif
    interrupted
    hung_up
    killed
}

result() { # status name
    if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; fi
}

# Runs the demo to its end; its process is $demo.
to_the_end() { # arguments
    "$SLUICE" demo --once --json "$@" >"$WORK/demo.json" 2>"$WORK/demo.err" &
    demo=$!
    wait "$demo"
}

whole() {
    local status
    to_the_end
    status=$?
    [ "$status" -eq 0 ] || cat "$WORK/demo.err"
    result "$status" "the demo ends well"
    jq -e '.loss_packets == 0' "$WORK/demo.json" >/dev/null
    result $? "no packet is lost"
    jq -e '.checks_failed == 0 and .checks_passed > 50' "$WORK/demo.json" >/dev/null
    result $? "no check fails ($(jq .checks_passed "$WORK/demo.json") hold)"
    # Registration, session, traffic, idle, paging, handovers, a dedicated flow, deregistration.
    jq -e '[.core[].wiring] == ["thread", "ring"] and all(.core[]; .checks_failed == 0 and .checks_passed > 100
        and (.ues | length) == 3 and all(.ues[]; .pages_answered > 0 and [.handovers[].by] == ["Xn", "N2"]
        and (.dedicated_flow | .uplink_packets == 20 and .downlink_packets == 20)))' "$WORK/demo.json" >/dev/null
    result $? "the core serves every UE to its end, in each wiring ($(jq -c '[.core[].checks_passed]' "$WORK/demo.json") checks hold)"
    jq -e 'all(.core[]; [.captures[] | select(.interface == ("N2", "N1, deciphered"))] | length == 2
        and all(.[]; .complaints == 0 and .messages >= 40))' "$WORK/demo.json" >/dev/null
    result $? "tshark reads N2, and N1 when it is deciphered"
    jq -e "$LADDER" "$WORK/demo.json" >/dev/null
    result $? "the ladder has each step of each UE"
    nothing_left "$demo"
    result $? "the demo leaves nothing"
}

# Two loops have as much of the CPUs as the part with an emulated SMF; and the UPF is taken off its CPU for so long that no
# ring is deep enough: what that disturbed is played again.
beside_others() {
    local name="beside two busy loops, and with the UPF held up, the demo ends well" loops=() status upf i
    for i in 1 2; do
        timeout 120 bash -c 'while :; do :; done' &
        loops+=($!)
    done
    # What the demo before this one said must not be taken for what this one says.
    : >"$WORK/demo.err"
    "$SLUICE" demo --upf --once --json >"$WORK/demo.json" 2>>"$WORK/demo.err" &
    demo=$!
    for ((i = 0; i < 600; i++)); do
        ! grep -q "iperf3: UDP" "$WORK/demo.err" || break
        sleep 0.1
    done
    sleep 0.5
    upf=$(pgrep -f "upf -c .*sluice-demo-$demo/")
    kill -STOP "$upf"
    # Rings hold somewhat more than two seconds of traffic, and more where the sources lack CPU as well.
    sleep 4.5
    kill -CONT "$upf"
    wait "$demo"
    status=$?
    kill "${loops[@]}"
    wait "${loops[@]}" 2>/dev/null
    [ "$status" -eq 0 ] || cat "$WORK/demo.err"
    result "$status" "$name"
    jq -e '.loss_packets == 0 and .checks_failed == 0 and .host_loss_packets > 0
        and any(.disturbed[]; .phase == "iperf3 UDP")' "$WORK/demo.json" >/dev/null
    result $? "what the host lost is told apart from what the UPF lost ($(jq -c '[.host_loss_packets, (.disturbed | length)]' "$WORK/demo.json"))"
}

# Only huge pages can be given to the kernel; the demo itself says whether there are enough. Where
# too few are free, some are lent from the machine's memory for as long as it takes.
over_xdp_sockets() {
    local name="the demo ends well over XDP sockets" status tries
    for tries in 1 2 3; do
        borrow_huge_pages
        to_the_end --driver af_xdp
        status=$?
        return_huge_pages
        # Else a test beside it was quicker to take the pages.
        grep -q "packet buffers are on normal pages" "$WORK/demo.err" || break
        status=3
        say "huge pages were taken by others (attempt $tries)"
    done
    case $status in
    0) jq -e '.loss_packets == 0 and .checks_failed == 0' "$WORK/demo.json" >/dev/null
        result $? "$name" ;;
    3) echo "ok $name # SKIP $(tail -n 1 "$WORK/demo.err")" ;;
    *) cat "$WORK/demo.err"; result "$status" "$name" ;;
    esac
}

borrow_huge_pages() {
    local free
    free=$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)
    [ "${free:-0}" -lt "$DEMO_HUGE_PAGES" ] || return 0
    HUGE_PAGES=$(cat "$POOL") || return 0
    set_huge_pages $((HUGE_PAGES + DEMO_HUGE_PAGES - ${free:-0}))
}

return_huge_pages() {
    [ -n "$HUGE_PAGES" ] || return 0
    set_huge_pages "$HUGE_PAGES"
    HUGE_PAGES=
}

# Memory may be in pieces, and a container may have none to lend: then there are as many as can be.
set_huge_pages() { # pages
    { echo "$1" >"$POOL"; } 2>/dev/null || true
}

over_memif() {
    local name="the demo ends well over memif" status
    to_the_end --driver memif
    status=$?
    [ "$status" -eq 0 ] || cat "$WORK/demo.err"
    [ "$status" -eq 0 ] && jq -e '.loss_packets == 0 and .checks_failed == 0' "$WORK/demo.json" >/dev/null &&
        nothing_left "$demo"
    result $? "$name"
}

# Ctrl-C while links, the UPF, sessions, and every kind of traffic come and go.
interrupted() {
    local after_s
    for after_s in 0.1 0.4 0.9 2 6 12; do
        "$SLUICE" demo --json >"$WORK/demo.json" 2>"$WORK/demo.err" &
        local pid=$! ended
        sleep "$after_s"
        takes_interrupts "$pid"
        kill -INT "$pid"
        ends_within 8 "$pid"
        ended=$?
        [ "$ended" -eq 0 ] || kill -KILL "$pid"
        wait "$pid"
        result "$ended" "an interrupted demo ends soon (after $after_s s)"
        jq -e .interrupted "$WORK/demo.json" >/dev/null
        result $? "an interrupted demo says so (after $after_s s)"
        nothing_left "$pid"
        result $? "an interrupted demo leaves nothing (after $after_s s)"
    done
}

# A command in the background of a script ignores interrupts until it wants to know of them: one that others keep from the
# CPU is waited for.
takes_interrupts() { # pid
    local i caught
    for ((i = 0; i < 600; i++)); do
        caught=$(awk '$1 == "SigCgt:" { print $2 }' "/proc/$1/status" 2>/dev/null) || return
        [ $((0x${caught:-2} & 2)) -eq 0 ] || return 0
        sleep 0.1
    done
}

# A terminal that is closed, or a connection that breaks.
hung_up() {
    "$SLUICE" demo >"$WORK/demo.out" 2>"$WORK/demo.err" &
    local pid=$!
    sleep 3
    kill -HUP "$pid"
    ends_within 8 "$pid" && nothing_left "$pid"
    result $? "a demo whose terminal is gone leaves nothing"
    wait "$pid" || true
}

killed() {
    "$SLUICE" demo --json >/dev/null 2>&1 &
    local dead=$! next
    sleep 4
    kill -KILL "$dead"
    wait "$dead" 2>/dev/null
    "$SLUICE" demo --json >/dev/null 2>&1 &
    next=$!
    sleep 2
    nothing_left "$dead"
    result $? "what a killed demo left is swept by the next one"
    kill -INT "$next"
    # An interrupted demo says so by its status; it is not this script's.
    wait "$next" || true
}

# Neither namespaces nor folders, nor processes that work with them.
nothing_left() { # pid of the demo
    local left
    left=$(ip netns list | grep "^sluice-$1-"
        ls -d "${TMPDIR:-/tmp}/sluice-demo-$1" 2>/dev/null
        pgrep -af "sluice-demo-$1/")
    [ -z "$left" ] || { echo "$left"; return 1; }
}

ends_within() { # seconds pid
    local i
    for ((i = 0; i < $1 * 10; i++)); do
        [ -d "/proc/$2" ] && [ "$(awk '$1 == "State:" { print $2 }' "/proc/$2/status")" != Z ] || return 0
        sleep 0.1
    done
    return 1
}

without_root() {
    local name="without root the demo says what it needs" said status
    if [ "$(id -u)" -eq 0 ] && ! command -v setpriv >/dev/null; then
        echo "ok $name # SKIP needs setpriv"
        return
    fi
    local drop=()
    [ "$(id -u)" -ne 0 ] || drop=(setpriv --bounding-set=-all --inh-caps=-all)
    said=$("${drop[@]}" "$SLUICE" demo --once 2>&1 >/dev/null)
    status=$?
    [ "$status" -eq 3 ] && [[ $said == *CAP_NET_ADMIN* ]]
    result $? "$name"
}

main
