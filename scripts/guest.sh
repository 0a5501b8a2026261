# SPDX-License-Identifier: Apache-2.0
# A guest under QEMU's software emulation, with Debian's kernel, which has SCTP: sourced by those who need one, after
# env.sh. They set WORK (a folder), and NS (a network namespace with the taps).
# shellcheck shell=bash

GUEST=$TARGET_DIR/guest
# What the guest's kernel is made of: SCTP, a network card, bad networks, pairs of devices.
GUEST_MODULES=(net/sctp/sctp net/ipv4/udp_tunnel net/ipv6/ip6_udp_tunnel lib/libcrc32c crypto/crc32c_generic
    drivers/virtio/virtio drivers/virtio/virtio_ring drivers/virtio/virtio_pci_legacy_dev
    drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci net/core/failover drivers/net/net_failover
    drivers/net/virtio_net net/sched/sch_netem net/sched/sch_ingress net/sched/act_mirred
    net/sched/cls_matchall drivers/net/ifb drivers/net/veth drivers/net/tun)

# Prints what is not there; fails if all is there.
guest_lacks() { # [program...]
    local tool
    [ "$(uname -m)" = x86_64 ] || { echo "needs x86-64"; return; }
    [ "$(id -u)" -eq 0 ] || { echo "needs root"; return; }
    for tool in qemu-system-x86_64 busybox ip dpkg-deb apt-get "$@"; do
        command -v "$tool" >/dev/null || { echo "needs $tool: make setup"; return; }
    done
    [ -e /dev/net/tun ] || { echo "needs /dev/net/tun"; return; }
    return 1
}

# Debian's kernel is unpacked beside the build, not installed; it stays for the next time.
fetch_kernel() {
    [ "$(cat "$GUEST/list" 2>/dev/null)" != "${GUEST_MODULES[*]}" ] || return 0
    local package folder module
    package=$(apt-cache depends linux-image-amd64 2>/dev/null |
        sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    [ -n "$package" ] || return 1
    folder=$(mktemp -d)
    say "fetching $package for a guest (70 MB)"
    (cd "$folder" && apt-get download -q "$package") >&2 || { rm -r "$folder"; return 1; }
    dpkg-deb -x "$folder"/*.deb "$folder/whole" || { rm -r "$folder"; return 1; }
    mkdir -p "$GUEST/modules"
    for module in "${GUEST_MODULES[@]}"; do
        # Some are built in, or have moved to another folder.
        find "$folder/whole/lib/modules" -name "$(basename "$module").ko*" -exec cp {} "$GUEST/modules" ';'
    done
    cp "$folder"/whole/boot/vmlinuz-* "$GUEST/vmlinuz"
    echo "${GUEST_MODULES[*]}" >"$GUEST/list"
    rm -r "$folder"
}

# The beginning of an initramfs: busybox, modules, programs with their libraries.
guest_root() { # root program...
    local root=$1 program
    mkdir -p "$root"/{bin,programs,proc,sys,dev,tmp,run,modules,etc,var/log}
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$GUEST"/modules/* "$root/modules"
    for program in "${@:2}"; do
        add_program "$program" "$root"
    done
}

add_program() { # program root
    local library
    # The programs have line tables, which the guest has no use for.
    strip -o "$2/programs/$(basename "$1")" "$1"
    while read -r library; do
        [ -e "$2$library" ] || install -D "$library" "$2$library"
    done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*')
}

pack_guest() { # root
    chmod 755 "$1/init"
    (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$WORK/initramfs"
}

# What every guest's /init begins with. `tell` speaks to the script outside.
guest_init_head() {
    cat <<'INIT'
#!/bin/busybox sh
export PATH=/programs:/bin
/bin/busybox --install -s /bin 2>/dev/null
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
# This shell takes its own for programs of the same names.
ip() { /programs/ip "$@"; }
tc() { /programs/tc "$@"; }

# In whatever order they need each other.
for pass in 1 2 3 4 5; do
    for module in /modules/*; do insmod "$module" 2>/dev/null; done
done
mkdir -p /dev/net
[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
ip link set lo up
# In a line of its own: firmware leaves one that has not ended.
tell() { printf '\nguest %s\n' "$*"; }
INIT
}

# Starts the guest with a card for each tap, eth0 and so on; file descriptor 3 is its input.
start_guest() { # tap...
    local tap cards=()
    for tap; do
        # Checksums are complete: a UPF may read what the guest sends.
        cards+=(-netdev "tap,id=$tap,ifname=$tap,script=no,downscript=no,vnet_hdr=off"
            -device "virtio-net-pci,netdev=$tap")
    done
    mkfifo "$WORK/to-guest"
    exec 3<>"$WORK/to-guest"
    ip netns exec "$NS" qemu-system-x86_64 -accel tcg -cpu max -m 512 -nographic -no-reboot -nodefaults \
        -serial stdio -kernel "$GUEST/vmlinuz" -initrd "$WORK/initramfs" \
        -append "console=ttyS0 quiet panic=-1" "${cards[@]}" <"$WORK/to-guest" >"$WORK/guest.log" 2>&1 &
    QEMU=$!
}

# Waits for a line of the guest that begins so.
wait_for() { # text seconds
    local i
    for ((i = 0; i < $2 * 10; i++)); do
        ! grep -q "^$1" "$WORK/guest.log" || return 0
        kill -0 "$QEMU" 2>/dev/null || break
        sleep 0.1
    done
    say "the guest did not say: $1"
    return 1
}
