# SPDX-License-Identifier: Apache-2.0
# Questions to core and UPF, and what is made of the answers: sourced by scripts/foreign-ran.sh.
# shellcheck shell=bash

core() { # question...
    "$TARGET_DIR/debug/sluice" ctl --json --socket "$WORK/core.sock" --core "$@" 2>/dev/null
}

upf() { # question...
    "$TARGET_DIR/debug/sluice" ctl --json --socket "$WORK/upf.sock" "$@" 2>/dev/null
}

# Whether a command succeeds in time.
within() { # seconds command...
    local end=$((SECONDS + $1))
    until "${@:2}" >/dev/null; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.3
    done
}

# A step: "ok" if the command succeeds in time, and what core, UPF and the program say if not.
step() { # name seconds command...
    if within "$2" "${@:3}"; then
        echo "ok $1"
        return
    fi
    echo "not ok $1"
    FAILED=$((FAILED + 1))
    {
        echo "expected in $2 s: ${*:3}"
        core ues | jq -c '.ues[]'
        core refusals | jq -c '.refusals[]'
        tail -n 8 "$WORK/core.log"
        inside "tail -n 15 /tmp/$LOG"
    } >&2
}

associated() {
    core status | jq -e '.upfs | length > 0 and all(.associated)'
}

gnb_is_up() { # address
    core gnbs | jq -e --arg address "$1" '[.gnbs[] | select(.address == $address)] | length == 1'
}

# Whether a UE is in this state, with so many sessions, all of whose user planes are there or not as the state wants.
ue_is() { # ue state sessions
    core ue "$(imsi "$1")" | jq -e --arg state "$2" --argjson sessions "$3" '.ue |
        .state == $state and (.sessions | length) == $sessions and .waits_at == null and
        all(.sessions[]; .waits_at == null and
            .user_plane == (if $state == "connected" then "up" else "down" end))'
}

# Whether a UE is connected at the gNB with this N3 address, and its packets go there.
ue_is_at() { # ue n3
    ue_is "$1" connected 1 &&
        core ue "$(imsi "$1")" | jq -e --arg n3 "$2/" '.ue.sessions | all(.gnb_tunnel | startswith($n3))'
}

# Whether neither the core nor the UPF has anything of a UE.
ue_is_gone() { # ue
    core ues | jq -e --arg imsi "$(imsi "$1")" 'all(.ues[]; .imsi != $imsi)' &&
        upf sessions | jq -e --arg imsi "$(imsi "$1")" 'all(.sessions[]; .imsi != $imsi)'
}

nobody_is_left() {
    core ues | jq -e '.ues == []' && upf sessions | jq -e '.sessions == []'
}

address_of() { # ue
    core ue "$(imsi "$1")" | jq -r '.ue.sessions[0].addresses[0] // empty'
}

guti_of() { # ue
    core ue "$(imsi "$1")" | jq -r '.ue.guti'
}

counter() { # .part.name
    core counters | jq "$1"
}

counts() { # .part.name number
    [ "$(counter "$1")" -ge "$2" ]
}

# A UE is pinged from the data network, and each packet comes back.
ping_to_ue() { # ue count
    ip netns exec "$NS-dn" ping -q -c "$2" -i 0.5 -W 5 "$(address_of "$1")" | grep ' 0% packet loss'
}

# The server is pinged by a UE; of the first packets some may get lost in a UE that has to connect.
ping_from_ue() { # device packets-that-come-back of
    local received
    received=$(inside "ping -q -c $3 -s 1300 -W 5 -I $1 198.18.6.2" |
        sed -n 's/.* \([0-9]*\) packets received.*/\1/p')
    [ "${received:-0}" -ge "$2" ]
}

# From now on all that is said of a UE is kept: N1 without its ciphering, N2, N4, and its packets on N3 and N6.
follow() { # ue
    "$TARGET_DIR/debug/sluice" ctl --core --socket "$WORK/core.sock" trace "$(imsi "$1")" \
        --upf-socket "$WORK/upf.sock" -w "$WORK/followed.pcapng" >"$WORK/followed.txt" 2>&1 &
    FOLLOWER=$!
    within 10 [ -s "$WORK/followed.pcapng" ] || say "the UE cannot be followed: $(tail -n 1 "$WORK/followed.txt")"
}

judge_followed() { # name
    kill -INT "$FOLLOWER"
    wait "$FOLLOWER"
    FOLLOWER=
    step "$1" 1 clean_capture followed nas-5gs
}

# What core and UPF counted and sent in all of it.
judge_ours() {
    local at
    step "the core took every message of these gNBs and UEs for right" 1 nothing_refused
    for at in "n2 ip.src==198.18.2.1" "upf3 gtp && ip.src==198.18.3.1 && !icmp.type==3" "lo pfcp"; do
        step "tshark has no complaint of what core and UPF sent (${at%% *})" 1 clean_capture "${at%% *}" "${at#* }"
    done
    step "the UPF's ledger of packets balances" 1 ledger_balances
    step "core and UPF are alive" 1 kill -0 "$CORE" "$UPF"
}

nothing_refused() {
    core refusals | jq -e '.total == 0' && core counters | jq -e '.amf |
        .faulty_ngap + .not_served_ngap + .unreadable_nas + .wrong_macs + .panics == 0'
}

ledger_balances() {
    upf drops | jq -e '.ledger.balances'
}

# No malformed packet, no error in the eyes of tshark; and there is something to look at.
clean_capture() { # interface filter
    local complaints
    [ "$(tshark -r "$WORK/$1.pcapng" -Y "$2" 2>/dev/null | wc -l)" -gt 0 ] || return
    complaints=$(tshark -r "$WORK/$1.pcapng" -Y "$2 && (_ws.malformed || _ws.expert.severity >= 8388608)" 2>/dev/null)
    [ -z "$complaints" ] || { echo "$complaints" | head -n 5 >&2; return 1; }
}
