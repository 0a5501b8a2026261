# SPDX-License-Identifier: Apache-2.0
# PacketRusher's file, and what it does: sourced by scripts/foreign-ran.sh.
# shellcheck shell=bash disable=SC2034 # LOG is what a step shows that fails

packetrusher_files() { # folder
    cat >"$1/packetrusher.yaml" <<RUSHER
gnodeb:
  controlif: {ip: "198.18.2.12", port: 9487}
  dataif: {ip: "198.18.3.12", port: 2152}
  plmnlist: {mcc: "001", mnc: "01", tac: "000001", gnbid: "000008"}
  slicesupportlist: {sst: "01"}
ue:
  hplmn: {mcc: "001", mnc: "01"}
  msin: "0000000005"
  routingindicator: "0000"
  protectionScheme: 0
  homeNetworkPublicKey: "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650"
  homeNetworkPublicKeyID: 1
  key: "$K"
  opc: "$OPC"
  amf: "8000"
  sqn: "00000000"
  dnn: "internet"
  snssai: {sst: "01"}
  integrity: {nia0: false, nia1: false, nia2: true, nia3: false}
  ciphering: {nea0: false, nea1: false, nea2: true, nea3: false}
amfif: [{ip: "198.18.2.1", port: 38412}]
logs: {level: 4}
RUSHER
    sed 's/protectionScheme: 0/protectionScheme: 1/' "$1/packetrusher.yaml" >"$1/packetrusher-concealed.yaml"
}

# UEs 5 to 8. Its packets are not tried: they want a kernel module of its own.
play_packetrusher() {
    LOG=rusher.log
    rusher "" -n 1 --timeBeforeIdle 5000 --timeBeforeReconnecting 8000
    step "PacketRusher: its gNB sets up NG" 40 gnb_is_up 198.18.2.12
    step "PacketRusher: a UE registers, and has a session" 40 ue_is 5 connected 1
    step "PacketRusher: the gNB releases it, and it is idle with its session" 40 ue_is 5 idle 1
    step "PacketRusher: it comes back by service request" 40 ue_is 5 connected 1
    rusher_leaves 5
    rusher -concealed -n 1
    step "PacketRusher: a UE with a SUCI of profile A registers" 40 ue_is 5 connected 1
    rusher_leaves 5
    rusher_moves Ngap .amf.handovers "an N2 handover"
    rusher_moves Xn .amf.path_switches "an Xn handover"
    rusher_loops
}

rusher() { # file option...
    inside "packetrusher --config /etc/packetrusher$1.yaml multi-ue ${*:2} >/tmp/rusher.log 2>&1 &"
}

# It deregisters its UEs when it is interrupted.
rusher_leaves() { # ue
    # shellcheck disable=SC2016 # the guest's shell asks for its own processes
    inside 'kill -INT $(pidof packetrusher)'
    step "PacketRusher: its UE deregisters, and nothing of it is left" 40 ue_is_gone "$1"
    step "PacketRusher: its gNBs are gone" 40 no_gnb
}

no_gnb() {
    core gnbs | jq -e '.gnbs == []'
}

# The UE begins at the second gNB.
rusher_moves() { # kind counter name
    local before
    before=$(counter "$2")
    rusher "" -n 1 "--timeBefore${1}Handover" 8000
    step "PacketRusher: a UE is at one gNB" 40 ue_is_at 5 198.18.3.13
    step "PacketRusher: $3 takes it to another, with its session" 40 ue_is_at 5 198.18.3.12
    step "PacketRusher: $3 was counted once" 1 counts "$2" $((before + 1))
    rusher_leaves 5
}

# Four UEs with two sessions each register and deregister three times.
rusher_loops() {
    local registrations established
    registrations=$(counter .amf.registrations) established=$(counter .smf.established)
    rusher "" -n 4 --numPduSessions 2 --timeBeforeDeregistration 8000 --loop --loopCount 3
    step "PacketRusher: four UEs register three times each" 90 counts .amf.registrations $((registrations + 12))
    step "PacketRusher: they had 24 sessions" 40 counts .smf.established $((established + 24))
    step "PacketRusher: nothing of them is left" 40 nobody_is_left
    # shellcheck disable=SC2016
    inside 'kill -INT $(pidof packetrusher)'
}
