//! The smallest user plane: takes tunnels off at one port and puts them on at the other, in no
//! time.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use sluice_load::{Flow, Flows};
use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};
use sluice_port_sim::SimIo;
use sluice_wire::gtpu::{OUTER_IPV4_LEN, OuterFields, OuterIpv4, ShortContainer};

use super::{GNB, UPF};

const ETHERNET: usize = 14;

pub struct MiniUpf {
    io: SimIo,
    by_ue: HashMap<Ipv4Addr, Flow>,
}

impl MiniUpf {
    pub fn new(io: SimIo, flows: Flows) -> Self {
        let all = (0..flows.count()).filter_map(|number| flows.get(number));
        let by_ue = all.map(|flow| (flow.ue, *flow)).collect();
        Self { io, by_ue }
    }

    pub fn turn(&mut self) -> usize {
        let uplink = self.pass(PortId(0), PortId(1), |_, packet| {
            packet.pull_front(ETHERNET + OUTER_IPV4_LEN).unwrap();
            frame(packet);
        });
        let downlink = self.pass(PortId(1), PortId(0), |by_ue, packet| {
            packet.pull_front(ETHERNET).unwrap();
            let ue: [u8; 4] = packet.data()[16..20].try_into().unwrap();
            let flow = by_ue[&Ipv4Addr::from(ue)];
            let length = packet.len();
            let outer = packet.push_front(OUTER_IPV4_LEN).unwrap();
            let fields = OuterFields {
                tos: 0,
                identification: 0,
                source_port: 0xc000,
                teid: flow.downlink,
            };
            let container = ShortContainer::downlink(flow.qfi.unwrap(), false);
            OuterIpv4::new(UPF, GNB, 64, true)
                .write(outer.try_into().unwrap(), &fields, container, length)
                .unwrap();
            frame(packet);
        });
        uplink + downlink
    }

    fn pass<P>(
        &mut self,
        from: PortId,
        to: PortId,
        mut change: impl FnMut(&HashMap<Ipv4Addr, Flow>, &mut P),
    ) -> usize
    where
        SimIo: PortIo<Packet = P>,
        P: Packet,
    {
        let mut burst = Burst::new();
        let came = self.io.rx(from, QueueId(0), &mut burst, 64);
        for packet in burst.iter_mut() {
            change(&self.by_ue, packet);
        }
        self.io.tx(to, QueueId(0), &mut burst);
        came
    }
}

/// An Ethernet header, whose addresses do not matter.
fn frame(packet: &mut impl Packet) {
    let header = packet.push_front(ETHERNET).unwrap();
    header.fill(2);
    header[12..].copy_from_slice(&[8, 0]);
}
