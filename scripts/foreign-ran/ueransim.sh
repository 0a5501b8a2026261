# SPDX-License-Identifier: Apache-2.0
# UERANSIM's files, and what it does: sourced by scripts/foreign-ran.sh.
# shellcheck shell=bash disable=SC2034 # LOG is what a step shows that fails

ueransim_files() { # folder
    local at
    cat >"$1/gnb.yaml" <<'GNB'
mcc: '001'
mnc: '01'
nci: '0x000000010'
idLength: 32
tac: 1
linkIp: 127.0.0.1
ngapIp: 198.18.2.11
gtpIp: 198.18.3.11
amfConfigs: [{address: 198.18.2.1, port: 38412}]
slices: [{sst: 1}]
ignoreStreamIds: true
GNB
    for at in 1 2 3; do ueransim_ue "$at" >"$1/ue$at.yaml"; done
}

# UE 1: 5G-AKA, SUCI of the null scheme. UE 2: SUCI of profile A. UE 3: EAP-AKA'.
play_ueransim() {
    LOG=gnb.log
    inside "nr-gnb -c /etc/gnb.yaml >/tmp/gnb.log 2>&1 &"
    step "UERANSIM: its gNB sets up NG" 60 gnb_is_up 198.18.2.11
    follow 1
    ueransim_registers 1 "5G-AKA"
    ueransim_registers 2 "5G-AKA, SUCI of profile A"
    ueransim_registers 3 "EAP-AKA'"
    ueransim_goes_idle_and_comes_back
    ueransim_is_periodic
    ueransim_has_another_session
    ueransim_gnb_restarts
    ueransim_leaves
    judge_followed "UERANSIM: tshark has no complaint of what was said of UE 1, with N1 deciphered"
}

# Each UE has a device for its session, in the order of their registration.
ueransim_registers() { # ue how
    local device=uesimtun$(($1 - 1))
    LOG=ue$1.log
    inside "nr-ue -c /etc/ue$1.yaml >/tmp/ue$1.log 2>&1 &"
    step "UERANSIM: a UE registers ($2), and has a session" 150 ue_is "$1" connected 1
    step "UERANSIM: its device has the address that the UPF gave ($2)" 60 ueransim_has_device "$1" "$device"
    step "UERANSIM: it pings through the UPF, and is pinged ($2)" 60 both_ways "$1" "$device"
}

ueransim_has_device() { # ue device
    inside "ip -4 addr show dev $2" | grep -F " $(address_of "$1")/"
}

both_ways() { # ue device
    ping_from_ue "$2" 4 4 && ping_to_ue "$1" 4
}

ueransim_releases() { # ue
    local at
    # The gNB's number of a UE is that of the order in which UEs came.
    at=$(inside "nr-cli UERANSIM-gnb-1-1-1 -e ue-list" | tr '\n' ' ' | sed 's/- ue-id/\n&/g' |
        sed -n "s/^- ue-id: \([0-9]*\) .*amf-ngap-id: $(core ue "$(imsi "$1")" |
            jq '.ue.connected.amf_ue_ngap_id') *$/\1/p")
    inside "nr-cli UERANSIM-gnb-1-1-1 -e 'ue-release $at'"
}

ueransim_goes_idle_and_comes_back() {
    local paged
    LOG=ue1.log
    ueransim_releases 3 >/dev/null
    ueransim_releases 1 >/dev/null
    step "UERANSIM: the gNB releases a UE, which is idle with its session" 60 ue_is 1 idle 1
    # UERANSIM's UE loses the packet that has it connect.
    step "UERANSIM: the UE comes back for uplink data, by service request" 60 ping_from_ue uesimtun0 3 5
    step "UERANSIM: its user plane is up" 10 ue_is 1 connected 1
    paged=$(counter .amf.paged)
    ueransim_releases 1 >/dev/null
    step "UERANSIM: the UE is idle once more" 60 ue_is 1 idle 1
    step "UERANSIM: a packet for the UE pages it, and no packet is lost" 1 ping_to_ue 1 5
    step "UERANSIM: it was paged, and is connected" 10 counts .amf.paged $((paged + 1))
}

# UE 3 has been idle since then.
ueransim_is_periodic() {
    local registrations guti
    LOG=ue3.log
    step "UERANSIM: another UE stays idle" 1 ue_is 3 idle 1
    registrations=$(counter .amf.registrations) guti=$(guti_of 3)
    step "UERANSIM: when T3512 runs out the UE registers periodically" $((T3512_S + 60)) \
        counts .amf.registrations $((registrations + 1))
    step "UERANSIM: it has its session" 10 ue_has_session 3
    step "UERANSIM: and the name of before" 1 [ "$(guti_of 3)" = "$guti" ]
}

ue_has_session() { # ue
    core ue "$(imsi "$1")" | jq -e '.ue.sessions | length == 1'
}

ueransim_has_another_session() {
    local before
    LOG=ue1.log
    before=$(address_of 1)
    inside "nr-cli imsi-$(imsi 1) -e 'ps-release 1'" >/dev/null
    # The UE asks for what it is configured to have, again.
    step "UERANSIM: the UE releases its session, and gets another" 60 has_another_address 1 "$before"
    step "UERANSIM: that carries packets" 60 ueransim_pings_again 1
}

has_another_address() { # ue address
    local address
    address=$(address_of "$1")
    [ -n "$address" ] && [ "$address" != "$2" ] && ue_is "$1" connected 1
}

# By whichever device has the UE's address now.
ueransim_pings_again() { # ue
    local device
    device=$(inside "ip -4 addr" | grep -F " $(address_of "$1")/" | sed 's/.* //')
    [ -n "$device" ] && both_ways "$1" "$device"
}

ueransim_gnb_restarts() {
    LOG=gnb.log
    # shellcheck disable=SC2016 # the guest's shell asks for its own processes
    inside 'kill -9 $(pidof nr-gnb)'
    step "UERANSIM: the gNB is killed: its UEs are idle, and keep their sessions" 60 ue_is 1 idle 1
    inside "nr-gnb -c /etc/gnb.yaml >/tmp/gnb.log 2>&1 &"
    step "UERANSIM: the gNB is back" 60 gnb_is_up 198.18.2.11
    LOG=ue1.log
    step "UERANSIM: a packet pages a UE there" 60 ping_to_ue 1 4
    step "UERANSIM: and it carries packets" 60 ueransim_pings_again 1
}

ueransim_leaves() {
    local at released
    LOG=ue1.log
    released=$(counter .smf.released)
    inside "nr-cli imsi-$(imsi 1) -e 'deregister normal'" >/dev/null
    step "UERANSIM: a UE deregisters, and its session is released" 60 counts .smf.released $((released + 1))
    # It registers anew by itself, unless it takes its cell for one of limited service, as on a busy machine.
    LOG=ue2.log
    core deregister "$(imsi 2)" >/dev/null
    step "UERANSIM: the operator deregisters a UE, and nothing of it is left" 60 ue_is_gone 2
    for at in 1 3; do
        LOG=ue$at.log
        inside "nr-cli imsi-$(imsi "$at") -e 'deregister switch-off'" >/dev/null
        step "UERANSIM: UE $at is switched off, and nothing of it is left" 60 ue_is_gone "$at"
    done
    # shellcheck disable=SC2016
    inside 'kill -9 $(pidof nr-gnb)'
}

ueransim_ue() { # ue
    cat <<UE
supi: imsi-$(imsi "$1")
mcc: '001'
mnc: '01'
protectionScheme: $([ "$1" -eq 2 ] && echo 1 || echo 0)
homeNetworkPublicKey: '5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650'
homeNetworkPublicKeyId: 1
routingIndicator: '0000'
key: $K
op: $OPC
opType: OPC
amf: '8000'
imei: '356938035643803'
imeiSv: '4370816125816151'
tunNetmask: '255.255.255.255'
useNamespace: false
gnbSearchList: [127.0.0.1]
uacAic: {mps: false, mcs: false}
uacAcc: {normalClass: 0, class11: false, class12: false, class13: false, class14: false, class15: false}
sessions: [{type: IPv4, apn: internet, slice: {sst: 1}}]
configured-nssai: [{sst: 1}]
default-nssai: [{sst: 1}]
integrity: {IA1: true, IA2: true, IA3: true}
ciphering: {EA1: true, EA2: true, EA3: true}
integrityMaxRate: {uplink: full, downlink: full}
UE
}
