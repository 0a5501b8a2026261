#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: namespaces.sh up|down. Makes, or removes, the three namespaces of docs/tutorial.md:
#
#   ran [n2 198.18.2.11] ---- [n2 198.18.2.1] net: core
#       [n3 198.18.3.11] ---- [n3]            net: UPF 198.18.3.1
#                                  net: UPF 198.18.6.1 [n6] ---- [n6 198.18.6.2] dn
set -euo pipefail

link() { # namespace interface namespace
    ip link add "$2" netns "$1" type veth peer name "$2" netns "$3"
    for at in "$1" "$3"; do
        ip -n "$at" link set "$2" up
        # The UPF reads what the other kernel has sent: checksums must be complete, packets single.
        ip netns exec "$at" ethtool -K "$2" tx off tso off gso off gro off >/dev/null
    done
}

up() {
    for name in ran net dn; do
        ip netns add $name
        ip -n $name link set lo up
    done
    link ran n2 net
    link ran n3 net
    link net n6 dn
    ip -n ran address add 198.18.2.11/24 dev n2
    ip -n net address add 198.18.2.1/24 dev n2
    ip -n ran address add 198.18.3.11/24 dev n3
    ip -n dn address add 198.18.6.2/24 dev n6
    ip -n dn route add 10.60.0.0/16 via 198.18.6.1
}

down() {
    for name in ran net dn; do ip netns delete $name; done
}

case ${1:-} in
    up | down) "$1" ;;
    *) echo "usage: namespaces.sh up|down" >&2; exit 2 ;;
esac
