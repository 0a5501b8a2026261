//! Random sequences of requests leak nothing: when all sessions are gone, every allocator is
//! full again and every entry and block is zero; and a refused request changes nothing.

use super::bench::*;
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi, Seid, Teid, UrrId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;

#[derive(Clone, Debug)]
enum Step {
    Establish {
        ue: u8,
        flows: u8,
        chosen: Option<u32>,
        families: u8,
        filter: usize,
    },
    AddFlow {
        at: usize,
        id: u16,
        qfi: u8,
        shared: bool,
        filter: usize,
    },
    /// Other filters in a PDR; the UE's prefix may come with them.
    Filter {
        at: usize,
        id: u16,
        filter: usize,
        prefix: Option<u8>,
    },
    RemovePdr {
        at: usize,
        id: u16,
    },
    Idle {
        at: usize,
        buffer: bool,
    },
    Handover {
        at: usize,
        teid: u32,
    },
    Rate {
        at: usize,
        qer: u32,
        kbps: u64,
    },
    Urr {
        at: usize,
        id: u32,
        remove: bool,
    },
    Query {
        at: usize,
    },
    Delete {
        at: usize,
    },
    Later {
        s: u64,
    },
}

/// What filters say; nothing for the first, an ID alone for the last.
const FILTERS: [&str; 8] = [
    "",
    "permit out ip from any to assigned",
    "permit out ip from ::/0 to assigned",
    "permit out 17 from any 53 to assigned",
    "permit out 6 from 192.0.2.0/24 80,443,8000-8080 to assigned",
    "permit out 58 from ff02::2/128 to assigned",
    "deny out ip from any to any",
    "id",
];
const ID: u32 = 7;

fn filter() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0), 3 => 1..FILTERS.len()]
}

fn sdf(filter: usize) -> Option<SdfFilter<'static>> {
    match FILTERS[filter] {
        "" => None,
        "id" => Some(SdfFilter {
            sdf_filter_id: Some(ID),
            ..Default::default()
        }),
        text => Some(SdfFilter {
            sdf_filter_id: filter.is_multiple_of(2).then_some(ID),
            ..SdfFilter::flow(text.as_bytes())
        }),
    }
}

/// A UE's addresses: of one family, or both.
fn addresses(ue: u8, families: u8) -> UeIpAddress {
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, 0, ue.into(), 0, 0, 0, 1);
    UeIpAddress {
        destination: true,
        ipv4: (families & 1 != 0).then_some(Ipv4Addr::new(10, 45, 0, ue)),
        ipv6: (families & 2 != 0).then_some(v6),
        ..Default::default()
    }
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..6usize;
    let teid = prop_oneof![
        Just(None),
        (1u32..6).prop_map(Some),
        (0x8000_0000u32..).prop_map(Some)
    ];
    prop_oneof![
        4 => (1u8..8, 0u8..12, teid, 1u8..4, filter()).prop_map(
            |(ue, flows, chosen, families, filter)| {
                Step::Establish { ue, flows, chosen, families, filter }
            }
        ),
        4 => (at.clone(), 1u16..30, 0u8..4, any::<bool>(), filter()).prop_map(
            |(at, id, qfi, shared, filter)| Step::AddFlow { at, id, qfi, shared, filter }
        ),
        3 => (at.clone(), 1u16..30, filter(), prop::option::of(1u8..8)).prop_map(
            |(at, id, filter, prefix)| Step::Filter { at, id, filter, prefix }
        ),
        3 => (at.clone(), 1u16..30).prop_map(|(at, id)| Step::RemovePdr { at, id }),
        2 => (at.clone(), any::<bool>()).prop_map(|(at, buffer)| Step::Idle { at, buffer }),
        2 => (at.clone(), 1u32..5).prop_map(|(at, teid)| Step::Handover { at, teid }),
        2 => (at.clone(), 1u32..5, 0u64..3).prop_map(|(at, qer, kbps)| Step::Rate { at, qer, kbps }),
        2 => (at.clone(), 0u32..4, any::<bool>()).prop_map(|(at, id, remove)| {
            Step::Urr { at, id, remove }
        }),
        1 => at.clone().prop_map(|at| Step::Query { at }),
        2 => at.prop_map(|at| Step::Delete { at }),
        1 => (0u64..90).prop_map(|s| Step::Later { s }),
    ]
}

struct World {
    bench: Bench,
    sessions: Vec<Seid>,
}

impl World {
    fn run(&mut self, step: &Step) {
        let before = self.bench.fingerprint();
        let cause = match step {
            Step::Establish {
                ue,
                flows,
                chosen,
                families,
                filter,
            } => {
                let address = Ipv4Addr::new(10, 45, 0, *ue);
                let mut request = default_session(address, u64::from(*ue));
                on_ue(&mut request, addresses(*ue, *families));
                request.create_pdr[0].pdi.sdf_filter.extend(sdf(*filter));
                self.establish(request, *flows, *chosen)
            }
            Step::Delete { at } => match self.seid(*at) {
                None => return,
                Some(seid) => {
                    self.sessions.retain(|s| *s != seid);
                    self.bench.delete(CP, seid).0
                }
            },
            Step::Later { s } => {
                self.bench.now_s += s;
                return;
            }
            other => match self.seid(at(other)) {
                None => return,
                Some(seid) => self.bench.modify(CP, seid, &change(other)).cause,
            },
        };
        if !cause.is_acceptance() {
            assert_eq!(self.bench.fingerprint(), before, "{step:?}");
        }
    }

    fn seid(&self, at: usize) -> Option<Seid> {
        self.sessions.get(at).copied()
    }

    fn establish(
        &mut self,
        mut request: SessionEstablishmentRequest<'static>,
        flows: u8,
        chosen: Option<u32>,
    ) -> Cause {
        if let Some(teid) = chosen.and_then(Teid::new) {
            request.create_pdr[0].pdi.local_f_teid = Some(FTeid::v4(teid, N3));
        }
        for i in 0..flows {
            let mut pdr = uplink_pdr(10 + u16::from(i), 1);
            pdr.pdi.local_f_teid = Some(FTeid::Choose {
                ipv4: true,
                ipv6: false,
                choose_id: Some(i % 3),
            });
            pdr.precedence = Precedence(u32::from(flows - i));
            pdr.qer_id.push(QerId(1));
            request.create_pdr.push(pdr);
        }
        let before = self.bench.up.sessions();
        let done = self.bench.establish(CP, &request);
        if done.cause.is_acceptance() {
            // It replaces the session of its name, or is answered by that if it is the very same.
            let name = request.cp_f_seid.seid.0;
            let replaced = before.iter().find(|one| one.cp_seid == name);
            let replaced = replaced.map(|one| Seid(one.seid));
            self.sessions.retain(|seid| Some(*seid) != replaced);
            self.sessions.push(done.seid);
        }
        done.cause
    }
}

fn at(step: &Step) -> usize {
    match step {
        Step::AddFlow { at, .. }
        | Step::Filter { at, .. }
        | Step::RemovePdr { at, .. }
        | Step::Idle { at, .. }
        | Step::Handover { at, .. }
        | Step::Rate { at, .. }
        | Step::Urr { at, .. }
        | Step::Query { at }
        | Step::Delete { at } => *at,
        Step::Establish { .. } | Step::Later { .. } => 0,
    }
}

fn refiltered(id: u16, filter: usize, prefix: Option<u8>) -> UpdatePdr<'static> {
    let mut pdi = Pdi {
        source_interface: match id {
            2 => SourceInterface::CORE,
            _ => SourceInterface::ACCESS,
        },
        ..Default::default()
    };
    pdi.sdf_filter.extend(sdf(filter));
    let named = prefix.map(|ue| addresses(ue, 2)).filter(|_| id == 2);
    pdi.ue_ip_address.extend(named);
    UpdatePdr {
        pdr_id: PdrId(id),
        pdi: Some(pdi),
        ..Default::default()
    }
}

fn handover(far: UpdateFar<'static>, teid: u32) -> UpdateFar<'static> {
    let gnb = Ipv4Addr::new(192, 0, 3, teid as u8);
    let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), gnb);
    UpdateFar {
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            outer_header_creation: Some(Edit::Set(ohc)),
            pfcpsmreq_flags: Some(SessionModificationRequestFlags::SNDEM),
            ..Default::default()
        }),
        ..far
    }
}

fn change(step: &Step) -> SessionModificationRequest<'static> {
    let mut change = SessionModificationRequest::default();
    let far = UpdateFar {
        far_id: FarId(2),
        ..Default::default()
    };
    match step {
        Step::AddFlow {
            id,
            qfi,
            shared,
            filter,
            ..
        } => {
            let mut pdr = uplink_pdr(*id, 1);
            pdr.pdi.sdf_filter.extend(sdf(*filter));
            pdr.pdi.qfi.extend(Qfi::new(*qfi).filter(|_| *qfi > 0));
            let limiter = if *shared { 1 } else { u32::from(*id) };
            if !shared {
                change.create_qer.push(qer(limiter, Some((100, 100)), None));
            }
            pdr.qer_id.push(QerId(limiter));
            change.create_pdr.push(pdr);
        }
        Step::Filter {
            id, filter, prefix, ..
        } => change.update_pdr.push(refiltered(*id, *filter, *prefix)),
        Step::RemovePdr { id, .. } => change.remove_pdr.push(RemovePdr { pdr_id: PdrId(*id) }),
        Step::Idle { buffer, .. } => change.update_far.push(UpdateFar {
            apply_action: Some(if *buffer {
                ApplyAction::BUFF
            } else {
                ApplyAction::FORW
            }),
            ..far
        }),
        Step::Handover { teid, .. } => change.update_far.push(handover(far, *teid)),
        Step::Rate { qer, kbps, .. } => change.update_qer.push(UpdateQer {
            qer_id: QerId(*qer),
            maximum_bitrate: Some(Edit::Set(BitRate {
                uplink_kbps: *kbps,
                downlink_kbps: *kbps,
            })),
            ..Default::default()
        }),
        Step::Urr { id, remove, .. } => {
            let mut update = UpdatePdr {
                pdr_id: PdrId(1),
                ..Default::default()
            };
            if *remove {
                update.urr_id.push(Edit::Remove);
                change.remove_urr.push(RemoveUrr { urr_id: UrrId(*id) });
            } else {
                update.urr_id.push(Edit::Set(UrrId(*id)));
                change.create_urr.push(urr(*id));
            }
            change.update_pdr.push(update);
        }
        Step::Query { .. } => {
            change.pfcpsmreq_flags = Some(SessionModificationRequestFlags::QAURR);
        }
        Step::Establish { .. } | Step::Delete { .. } | Step::Later { .. } => {}
    }
    change
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_leaks(steps in proptest::collection::vec(step(), 1..60)) {
        // So few filters that they do not fit at times.
        let bench = Bench::with(|c| c.flow_filters = 6);
        let mut world = World { bench, sessions: Vec::new() };
        for step in &steps {
            world.run(step);
        }
        let World { mut bench, sessions } = world;
        for seid in sessions {
            prop_assert_eq!(bench.delete(CP, seid).0, Cause::REQUEST_ACCEPTED);
        }
        bench.assert_vacant();
    }
}
