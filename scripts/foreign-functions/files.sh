# SPDX-License-Identifier: Apache-2.0
# Files of scripts/foreign-functions.sh: ours, and those of free5GC's functions. Each function prints one.
# shellcheck shell=bash

SUBSCRIBER='{imsi: "001010000000001", k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf, networks: {name: internet}}'

common() { # socket
    echo "plmns: {plmn: 001-01, slices: 1-010203}
tracking_areas: {tac: 1}
n2: {listen: 198.18.2.1, gnbs: 198.18.2.0/24, sctp: userspace, over: udp}
# free5GC's functions send no heart-beats.
nrf: {heart_beat_s: 3600}
control_socket: $WORK/$1.sock"
}

sessions() {
    echo "n4: {listen: 127.0.0.2}
upfs: {n4: 127.0.0.1, access_instance: access}
data_networks: {name: internet, ipv6: false}"
}

core_file() { # others [NRF's root]
    common core
    case ,$1, in *,smf,*) ;; *) sessions ;; esac
    case ,$1, in *,udr,*) ;; *) echo "subscribers: [$SUBSCRIBER]" ;; esac
    local nrf=
    [ -z "${2:-}" ] || nrf=", nrf: '$2'"
    echo "wiring: {transport: http2, programs: [], others: [$1]}
sbi: {listen: '127.0.0.20:7777', cleartext: true$nrf}"
}

# Functions in a program without a core.
alone_file() { # address functions
    common alone
    sessions
    echo "subscribers: [$SUBSCRIBER]
wiring: {transport: http2, programs: {functions: [$2], sbi: '$1:7777'}}
sbi: {listen: '$1:7778', cleartext: true}"
}

# free5GC's SMF gives UEs their addresses, and has one network instance.
upf_file() { # others
    local access=access allocate=", allocate: true"
    case ,$1, in *,smf,*) access=internet allocate= ;; esac
    echo "n4: {listen: 127.0.0.1, peers: 127.0.0.2}
control_socket: $WORK/upf.sock
ports:
  - {name: n3, device: 'net_af_packet0,iface=n3'}
  - {name: n6, device: 'net_af_packet1,iface=n6'}
interfaces:
  - {name: n3, port: n3, addresses: 198.18.3.1/24, n3: {network_instance: $access}}
  - {name: n6, port: n6, addresses: 198.18.6.1/24, gateway: 198.18.6.2, n6: {network_instance: internet}}
pools: [{network_instance: internet, prefix: 10.60.0.0/16$allocate}]
dpdk: {memory_mb: 128, mbufs: 16383}
limits: {sessions: 1000}"
}

ran_file() { # AMF over
    echo "gnbs:
  n3: 198.18.3.11
  namespace: $RAN
  n2: {amf: $1, local: 198.18.2.11, sctp: userspace, over: $2, plmn: 001-01, tac: 1, slices: 1-010203}
ues:
  count: 1
  imsi: '001010000000001'
  namespace: each
  sim:
    k: 465b5ce8b199b49faa5f0a2ee238a6bc
    opc: cd63cb71954a9f4e48a5994e37a02baf
    sessions: {dnn: internet, type: ipv4, slice: 1-010203}
steps:
  - attach:
  - check: {registered: 1, sessions: 1, failures: 0, within: 30s}
  - ping: {to: 198.18.6.2, wait: 5s}
  - idle:
  - check: {connected: 0, registered: 1, within: 10s}
  - run: {ues: 1, command: 'ping -q -c 3 -W 5 198.18.6.2', timeout: 30s}
  - check: {connected: 1, ping_lost: 0, failures: 0, drops: 0, within: 10s}
  - detach:
  - check: {registered: 0, failures: 0, within: 10s}
  - end:"
}

their_address() { # function
    case $1 in
        nrf) echo 127.0.0.10 ;;
        udm) echo 127.0.0.3 ;;
        udr) echo 127.0.0.4 ;;
        smf) echo 127.0.0.6 ;;
        pcf) echo 127.0.0.7 ;;
        ausf) echo 127.0.0.9 ;;
        nssf) echo 127.0.0.31 ;;
        amf) echo 198.18.9.2 ;;
    esac
}

their_file() { # function NRF's-root
    local address certificate="tls: {pem: a.pem, key: a.key}" version=1.0.3
    address=$(their_address "$1")
    case $1 in
        nrf) certificate="cert: {pem: a.pem, key: a.key}, rootcert: {pem: a.pem, key: a.key}, oauth: false" version=1.0.2 ;;
        udr) version=1.1.0 ;;
        nssf | pcf) version=1.0.2 ;;
        smf) version=1.0.7 ;;
        amf) version=1.0.9 ;;
    esac
    echo "info: {version: $version}
logger: {enable: true, level: info}
configuration:
  sbi: {scheme: http, registerIPv4: $address, bindingIPv4: $address, port: 8000, $certificate}"
    [ "$1" = nrf ] || echo "  nrfUri: $2"
    "their_$1"
}

their_nrf() {
    echo "  MongoDBName: free5gc
  MongoDBUrl: mongodb://127.0.0.1:27017
  DefaultPlmnId: {mcc: '001', mnc: '01'}
  serviceNameList: [nnrf-nfm, nnrf-disc]"
}

their_udr() {
    echo "  dbConnectorType: mongodb
  mongodb: {name: free5gc, url: 'mongodb://127.0.0.1:27017'}"
}

their_udm() {
    echo "  serviceNameList: [nudm-sdm, nudm-uecm, nudm-ueau, nudm-ee, nudm-pp]
  SuciProfile:
    - ProtectionScheme: 1
      PrivateKey: c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d
      PublicKey: 5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650"
}

their_ausf() {
    echo "  serviceNameList: [nausf-auth]
  plmnSupportList: [{mcc: '001', mnc: '01'}]
  groupId: ausfGroup001
  eapAkaSupiImsiPrefix: false"
}

their_nssf() {
    local plmn="{mcc: '001', mnc: '01'}" slices="[{sst: 1, sd: '010203'}]"
    echo "  nssfName: NSSF
  serviceNameList: [nnssf-nsselection, nnssf-nssaiavailability]
  supportedPlmnList: [$plmn]
  supportedNssaiInPlmnList: [{plmnId: $plmn, supportedSnssaiList: $slices}]
  nsiList:
    - {snssai: {sst: 1, sd: '010203'}, nsiInformationList: [{nrfId: 'http://127.0.0.10:8000/nnrf-nfm/v1/nf-instances', nsiId: 22}]}
  amfSetList: []
  amfList: []
  mappingListFromPlmn: []
  taList:
    - {tai: {plmnId: $plmn, tac: '000001'}, accessType: 3GPP_ACCESS, supportedSnssaiList: $slices}"
}

their_pcf() {
    echo "  pcfName: PCF
  timeFormat: 2019-01-02 15:04:05
  defaultBdtRefId: BdtPolicyId-
  bsf: {enable: false}
  serviceList:
    - {serviceName: npcf-am-policy-control}
    - {serviceName: npcf-smpolicycontrol, suppFeat: 3fff}
    - {serviceName: npcf-policyauthorization, suppFeat: '3'}
  mongodb: {name: free5gc, url: 'mongodb://127.0.0.1:27017'}
  locality: area1"
}

# The SMF reads a second file in config of its folder.
their_smf() {
    mkdir -p "$WORK/config"
    echo "info: {version: 1.0.7}" >"$WORK/config/uerouting.yaml"
    echo "  smfName: SMF
  serviceNameList: [nsmf-pdusession, nsmf-event-exposure, nsmf-oam]
  snssaiInfos:
    - {sNssai: {sst: 1, sd: '010203'}, dnnInfos: [{dnn: internet, dns: {ipv4: 192.0.2.53, ipv6: '2001:db8::53'}}]}
  plmnList: [{mcc: '001', mnc: '01'}]
  locality: area1
  pfcp: {nodeID: 127.0.0.2, listenAddr: 127.0.0.2, externalAddr: 127.0.0.2, assocFailAlertInterval: 10s, assocFailRetryInterval: 30s, heartbeatInterval: 10s}
  userplaneInformation:
    upNodes:
      gNB1: {type: AN}
      UPF:
        type: UPF
        nodeID: 127.0.0.1
        addr: 127.0.0.1
        sNssaiUpfInfos:
          - {sNssai: {sst: 1, sd: '010203'}, dnnUpfInfoList: [{dnn: internet, pools: [{cidr: 10.60.0.0/16}]}]}
        interfaces: [{interfaceType: N3, endpoints: [198.18.3.1], networkInstances: [internet]}]
    links: [{A: gNB1, B: UPF}]
  t3591: {enable: true, expireTime: 16s, maxRetryTimes: 3}
  t3592: {enable: true, expireTime: 16s, maxRetryTimes: 3}
  urrPeriod: 30
  urrThreshold: 500000
  requestedUnit: 1000"
}

their_amf() {
    local plmn="{mcc: '001', mnc: '01'}" timer="{enable: true, expireTime: 6s, maxRetryTimes: 4}" name
    echo "  amfName: AMF
  ngapIpList: [198.18.9.2]
  ngapPort: 38412
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam, namf-callback]
  servedGuamiList: [{plmnId: $plmn, amfId: cafe00}]
  supportTaiList: [{plmnId: $plmn, tac: '000001'}]
  plmnSupportList: [{plmnId: $plmn, snssaiList: [{sst: 1, sd: '010203'}]}]
  supportDnnList: [internet]
  security: {integrityOrder: [NIA2], cipheringOrder: [NEA0, NEA2]}
  networkName: {full: free5GC, short: free}
  ngapIE: {mobilityRestrictionList: {enable: true}, maskedIMEISV: {enable: true}, redirectionVoiceFallback: {enable: false}}
  nasIE: {networkFeatureSupport5GS: {enable: true, length: 1, imsVoPS: 0, emc: 0, emf: 0, iwkN26: 0, mpsi: 0, emcN3: 0, mcsi: 0}}
  t3502Value: 720
  t3512Value: 3600
  non3gppDeregTimerValue: 3240
  locality: area1
  defaultUECtxReq: false
  sctp: {numOstreams: 3, maxInstreams: 5, maxAttempts: 2, maxInitTimeout: 2}"
    for name in t3513 t3522 t3550 t3555 t3560 t3565 t3570; do echo "  $name: $timer"; done
}

amf_init() {
    guest_init_head
    cat <<'INIT'
ip addr add 198.18.9.2/24 dev eth0
ip link set eth0 up
ip route add default via 198.18.9.1
tell ready
cd /tmp
GIN_MODE=release /programs/amf -c /etc/amf.yaml 2>&1
tell ended
poweroff -f
INIT
}
