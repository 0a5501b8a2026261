//! Packets: most are sound and reach a session, the others have a fault or two.

use super::Generator;
use crate::spec::*;
use crate::world::*;
use sluice_twin::Side;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

impl Generator {
    pub(super) fn packet(&mut self) -> PacketSpec {
        let mut spec = self.sound();
        if self.rng.one_in(3) {
            for _ in 0..self.rng.within(1, 2) {
                self.fault(&mut spec);
            }
        }
        spec
    }

    /// A tunnel packet whose outer packet comes in fragments.
    pub(super) fn cut_packet(&mut self) -> PacketSpec {
        let mut spec = self.sound();
        for _ in 0..8 {
            if matches!(spec.entry, Entry::Tunnel { .. }) {
                break;
            }
            spec = self.sound();
        }
        spec.outer.identification = self.rng.next() as u16;
        spec.payload_len = self.rng.within(40, 400) as u16;
        let chance = |g: &mut Self| g.rng.one_in(4).then(|| g.rng.below(8) as u8);
        spec.cut = Some(Cut {
            len: self.rng.within(48, 200) as u16,
            reversed: self.rng.one_in(3),
            lost: chance(self),
            twice: chance(self),
        });
        spec
    }

    fn sound(&mut self) -> PacketSpec {
        let slot = self.slot();
        let session = self.sessions.get(&slot).cloned();
        let nobody = Ipv4Addr::new(10, 45, 9, 9);
        let ue = session.as_ref().map(|s| s.ue).unwrap_or_default();
        let ipv4 = ue.ipv4.unwrap_or(nobody);
        let ims = session.as_ref().is_some_and(|s| s.dn == IMS);
        let pdrs = session.map(|s| s.rules.pdrs).unwrap_or_default();
        let tunnels: Vec<&PdrSpec> = pdrs.iter().filter(|p| p.f_teid != TeidSpec::None).collect();
        let has_plain = tunnels.len() < pdrs.len();
        let mut spec = match tunnels.is_empty() || (has_plain && self.rng.one_in(2)) {
            true => {
                let link = if ims { IMS_LINK } else { INTERNET_LINK };
                let entry = Entry::Plain {
                    ue: ipv4.into(),
                    link,
                };
                PacketSpec::new(entry, SERVER.into())
            }
            false => {
                let at = self.rng.below(tunnels.len() as u64) as usize;
                self.tunnelled(slot, tunnels[at])
            }
        };
        spec.payload_len = match self.rng.below(12) {
            0 => self.rng.within(1330, 1480) as u16,
            1..=3 => self.rng.within(400, 1300) as u16,
            _ => self.rng.below(60) as u16,
        };
        spec.ports = (self.rng.within(4000, 4001) as u16, 80);
        if self.features.filters {
            self.ports(&mut spec);
        }
        spec.inner.tos = self.rng.pick(&[0, 0, 0xb8, 1, 2, 3]);
        spec.outer.tos = self.rng.pick(&[0, 0, 0, 0, 1, 2, 3, 0xb8]);
        spec.inner.dont_fragment = self.rng.one_in(3);
        spec.inner.identification = self.rng.next() as u16;
        spec.inner.protocol = self.rng.pick(&[17, 17, 6, 1, 132]);
        if self.features.filters && self.rng.one_in(8) {
            spec.inner.protocol = self.rng.pick(&[33, 50, 51, 58, 136]);
        }
        if self.rng.one_in(6) {
            spec.tcp = Some(self.syn());
            spec.inner.protocol = 6;
        }
        let knows_ipv6 = self.features.ipv6 && (ue.ipv6.is_some() || self.rng.one_in(20));
        if knows_ipv6 && (ue.ipv4.is_none() || self.rng.one_in(2)) {
            let prefix = ue
                .ipv6
                .unwrap_or(Ipv6Addr::new(0x2001, 0xdb8, 0x45, 0xfff, 0, 0, 0, 0));
            self.make_ipv6(&mut spec, prefix);
        }
        if spec.tcp.is_some() {
            spec.inner6.protocol = 6;
        }
        if self.rng.one_in(3)
            && let Some(address) = self.address_behind(&ue, spec.remote.is_ipv6())
        {
            match &mut spec.entry {
                Entry::Plain { ue, .. } => *ue = address,
                Entry::Tunnel { .. } => spec.spoofed = spec.spoofed.or(Some(address)),
            }
        }
        if self.features.nat && spec.remote.is_ipv4() {
            self.translated(slot, &mut spec);
        }
        spec
    }

    /// A segment, mostly a SYN, whose options offer a size at any place; now and then a broken one.
    fn syn(&mut self) -> TcpSpec {
        let mut options = Vec::new();
        for _ in 0..self.rng.below(4) {
            let size = self
                .rng
                .pick(&[100, 780, 1220, 1240, 1260, 1460, 0x04d8, 0xffff]);
            let [high, low] = u16::to_be_bytes(size);
            options.extend(match self.rng.below(9) {
                0..=3 => vec![2, 4, high, low],
                4..=5 => vec![1; self.rng.within(1, 3) as usize],
                6 => vec![3, 3, 7],
                7 => vec![4, 2],
                _ => {
                    let len = self.rng.pick(&[0, 1, 3, 5, 60]);
                    vec![self.rng.pick(&[0, 2, 5, 8]), len, high, low]
                }
            });
        }
        let whole = 20 + options.len().next_multiple_of(4) as u64;
        TcpSpec {
            flags: self.rng.pick(&[2, 2, 2, 0x12, 0x12, 0xc2, 0x10, 0x14]),
            options,
            words_error: match self.rng.below(12) {
                0 => self.rng.pick(&[-6, -1, 1, 3]),
                _ => 0,
            },
            checksum: self.rng.pick(&[0, 0xffff, 0xfffe, 1, 0x1234, 0xabcd]),
            len: match self.rng.below(8) {
                0 => self.rng.below(whole + 1) as u16,
                1 => (whole + self.rng.below(40)) as u16,
                _ => whole as u16,
            },
        }
    }

    fn tunnelled(&mut self, slot: Slot, pdr: &PdrSpec) -> PacketSpec {
        let downlink = pdr.source != Side::Access;
        let over_ipv6 = self.features.ipv6
            && match pdr.families {
                (_, false) => self.rng.one_in(20),
                (true, true) => self.rng.one_in(2),
                (false, true) => !self.rng.one_in(20),
            };
        let peer = match pdr.source {
            Side::Core => ANCHOR.into(),
            _ if over_ipv6 => self.rng.pick(&[GNB6, FAR_GNB6]).into(),
            // The CP function sends to the address towards the RAN, too.
            _ => self.rng.pick(&[GNB, OTHER_GNB, FAR_GNB]).into(),
        };
        let entry = Entry::Tunnel {
            slot,
            pdr: pdr.id,
            peer,
            wrong: 0,
            downlink,
            other_end: false,
        };
        let remotes = [SERVER, SERVER, SERVER, ELSEWHERE, IMS_SERVER, OUR_N6];
        let remote = self.rng.pick(&remotes);
        let mut spec = PacketSpec::new(entry, remote.into());
        spec.gtpu.qfi = match self.rng.below(5) {
            0 => None,
            _ => Some(self.rng.pick(&[1, 5, 9, 9, 63])),
        };
        spec.gtpu.container.pdu_type = u8::from(!downlink);
        if over_ipv6 {
            spec.udp.checksum = UdpSum::Good;
            if self.rng.one_in(12) {
                let kinds = [
                    Extension::Header(0, 1),
                    Extension::Header(60, 2),
                    Extension::Fragment(0, false),
                    Extension::Fragment(0, true),
                    Extension::Fragment(3, false),
                ];
                spec.outer_extensions = vec![self.rng.pick(&kinds)];
            }
        }
        spec
    }

    fn fault(&mut self, spec: &mut PacketSpec) {
        match self.rng.below(11) {
            0..=1 => self.entry_fault(spec),
            10 if spec.remote.is_ipv6() => self.ipv6_fault(spec),
            10 => {
                let mut ip = spec.inner;
                self.ip_fault(&mut ip);
                spec.inner = ip;
            }
            2 => {
                let mut ip = spec.outer;
                self.ip_fault(&mut ip);
                spec.outer = ip;
            }
            3..=4 => self.gtpu_fault(spec),
            5 => self.udp_fault(spec),
            6 => self.eth_fault(spec),
            7 => {
                spec.inner.ttl = self.rng.below(3) as u8;
                spec.inner6.hop_limit = spec.inner.ttl;
            }
            8 => {
                // Bit 5 makes IPv6 of an inner IPv4 packet.
                let bits: &[u8] = match self.features.ipv6 {
                    true => &[0, 1, 2, 3, 4, 5, 6, 7],
                    false => &[0, 1, 2, 3, 4, 6, 7],
                };
                let mask = 1 << self.rng.pick(bits);
                spec.damage.flip = Some((self.rng.below(120) as u16, mask));
            }
            _ => spec.damage.cut = Some(self.rng.below(120) as u16),
        }
    }

    fn entry_fault(&mut self, spec: &mut PacketSpec) {
        let low = self.rng.below(3) as u8;
        let is_ipv6 = spec.remote.is_ipv6();
        // The same as an IPv6 address where the packet is one.
        let fitting = |ipv4: Ipv4Addr, ipv6: Ipv6Addr| match is_ipv6 {
            true => IpAddr::V6(ipv6),
            false => IpAddr::V4(ipv4),
        };
        let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0x77, low.into(), 0, 0, 0, 1);
        let stranger = fitting(Ipv4Addr::new(10, 45, 77, low), prefix);
        match &mut spec.entry {
            Entry::Plain { ue, link } => match self.rng.below(4) {
                0 => *ue = stranger,
                1 => *link = self.rng.pick(&[0, 1, 2, 3]),
                2 => *ue = fitting(OUR_N6, OUR_N6_6),
                _ => {
                    let other = self.rng.pick(&[N3, N9, Ipv4Addr::BROADCAST]);
                    *ue = fitting(other, OUR_N6_6);
                }
            },
            Entry::Tunnel {
                wrong,
                peer,
                other_end,
                ..
            } => match self.rng.below(6) {
                5 => *other_end = true,
                0 => *wrong = 1 << self.rng.below(32),
                1 => *wrong = self.rng.next() as u32,
                2 => *peer = Ipv4Addr::new(172, 16, 0, 1).into(),
                3 => spec.spoofed = Some(stranger),
                _ => {
                    let remote = self.rng.pick(&[SILENT, Ipv4Addr::new(10, 45, 0, 0)]);
                    spec.remote = fitting(remote, SILENT6);
                }
            },
        }
    }

    fn ip_fault(&mut self, ip: &mut IpSpec) {
        match self.rng.below(11) {
            0 if self.features.ipv6 => ip.version = self.rng.pick(&[0, 5, 6]),
            0 => ip.version = self.rng.pick(&[0, 5]),
            1 => ip.options = self.rng.within(1, 10) as u8,
            2 => ip.header_len_error = self.rng.pick(&[-5, -1, 1, 3, 10]),
            3 => ip.total_len_error = self.rng.pick(&[-60, -9, -1, 1, 8, 1000]),
            4 => ip.checksum = Checksum::Wrong,
            5 => ip.checksum = Checksum::Is(self.rng.pick(&[0, 0xffff, 0xfeff, 0x00ff, 0x0100])),
            6 => ip.more_fragments = true,
            7 => ip.offset = self.rng.pick(&[1, 8, 100, 0x1fff]),
            8 => ip.protocol = self.rng.pick(&[1, 6, 41, 255]),
            9 => ip.ttl = self.rng.below(3) as u8,
            _ => ip.dont_fragment = !ip.dont_fragment,
        }
    }

    fn gtpu_fault(&mut self, spec: &mut PacketSpec) {
        let gtpu = &mut spec.gtpu;
        match self.rng.below(11) {
            0 => gtpu.sequence = true,
            1 => gtpu.n_pdu = true,
            2 => {
                let ty = self.rng.pick(&[0x03, 0x20, 0x40, 0x85]);
                gtpu.before.push((ty, self.rng.within(1, 2) as u8));
            }
            3 => {
                let ty = self.rng.pick(&[0x03, 0x20, 0x40, 0x81, 0x84, 0x85, 0xc0]);
                gtpu.behind.push((ty, self.rng.below(3) as u8));
            }
            4 => gtpu.container.words = self.rng.within(1, 3) as u8,
            5 => gtpu.container.pdu_type = self.rng.below(16) as u8,
            6 if self.rng.one_in(2) => gtpu.message_type = 254,
            6 => gtpu.message_type = self.rng.pick(&[1, 2, 3, 26, 31, 253, 254]),
            7 => gtpu.length_error = self.rng.pick(&[-30, -8, -1, 1, 4, 500]),
            8 => gtpu.flags_error = 1 << self.rng.below(8),
            9 => gtpu.no_payload = true,
            _ => gtpu.behind = vec![(0x20, 1); self.rng.within(6, 9) as usize],
        }
    }

    fn udp_fault(&mut self, spec: &mut PacketSpec) {
        let udp = &mut spec.udp;
        match self.rng.below(5) {
            0 => udp.source_port = self.rng.pick(&[0, 2152, 65535]),
            1 => udp.destination_port = self.rng.pick(&[0, 2153, 8805]),
            2 => udp.length_error = self.rng.pick(&[-100, -9, -1, 1, 20]),
            _ => udp.checksum = self.rng.pick(&[UdpSum::Good, UdpSum::Wrong, UdpSum::None]),
        }
    }

    fn eth_fault(&mut self, spec: &mut PacketSpec) {
        let eth = &mut spec.eth;
        match self.rng.below(5) {
            0 => eth.to = self.rng.pick(&[MacSpec::Other, MacSpec::Broadcast]),
            1 => {
                let vlans = [
                    VlanSpec::None,
                    VlanSpec::Tag(0),
                    VlanSpec::Tag(0x6000),
                    VlanSpec::Tag(0xe064),
                    VlanSpec::Tag(7),
                    VlanSpec::Twice,
                ];
                eth.vlan = self.rng.pick(&vlans);
            }
            2 if self.features.ipv6 => {
                let types = [0x0806, 0x0800, 0x86dd, 0x88a8, 0x0000];
                eth.ether_type = Some(self.rng.pick(&types));
            }
            2 => eth.ether_type = Some(self.rng.pick(&[0x0806, 0x88a8, 0x0000])),
            _ => eth.padding = vec![0xee; self.rng.within(1, 40) as usize],
        }
    }
}
