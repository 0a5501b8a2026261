//! Random sequences of requests leak nothing: when all sessions are gone, every allocator is
//! full again and every line and block is zero; and a refused request changes nothing.

use super::bench::*;
use core::net::Ipv4Addr;
use proptest::prelude::*;
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi, Seid, Teid, UrrId};
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

#[derive(Clone, Debug)]
enum Step {
    Establish {
        ue: u8,
        flows: u8,
        chosen: Option<u32>,
    },
    AddFlow {
        at: usize,
        id: u16,
        qfi: u8,
        shared: bool,
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

fn step() -> impl Strategy<Value = Step> {
    let at = 0..6usize;
    let teid = prop_oneof![
        Just(None),
        (1u32..6).prop_map(Some),
        (0x8000_0000u32..).prop_map(Some)
    ];
    prop_oneof![
        4 => (1u8..8, 0u8..12, teid).prop_map(|(ue, flows, chosen)| {
            Step::Establish { ue, flows, chosen }
        }),
        4 => (at.clone(), 1u16..30, 0u8..4, any::<bool>()).prop_map(|(at, id, qfi, shared)| {
            Step::AddFlow { at, id, qfi, shared }
        }),
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
            Step::Establish { ue, flows, chosen } => self.establish(*ue, *flows, *chosen),
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

    fn establish(&mut self, ue: u8, flows: u8, chosen: Option<u32>) -> Cause {
        let mut request = default_session(Ipv4Addr::new(10, 45, 0, ue), u64::from(ue));
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
        let done = self.bench.establish(CP, &request);
        // The very same establishment again is answered by the session that stands.
        if done.cause.is_acceptance() && !self.sessions.contains(&done.seid) {
            self.sessions.push(done.seid);
        }
        done.cause
    }
}

fn at(step: &Step) -> usize {
    match step {
        Step::AddFlow { at, .. }
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

fn change(step: &Step) -> SessionModificationRequest<'static> {
    let mut change = SessionModificationRequest::default();
    let far = UpdateFar {
        far_id: FarId(2),
        ..Default::default()
    };
    match step {
        Step::AddFlow {
            id, qfi, shared, ..
        } => {
            let mut pdr = uplink_pdr(*id, 1);
            pdr.pdi.qfi.extend(Qfi::new(*qfi).filter(|_| *qfi > 0));
            let limiter = if *shared { 1 } else { u32::from(*id) };
            if !shared {
                change.create_qer.push(qer(limiter, Some((100, 100)), None));
            }
            pdr.qer_id.push(QerId(limiter));
            change.create_pdr.push(pdr);
        }
        Step::RemovePdr { id, .. } => change.remove_pdr.push(RemovePdr { pdr_id: PdrId(*id) }),
        Step::Idle { buffer, .. } => change.update_far.push(UpdateFar {
            apply_action: Some(if *buffer {
                ApplyAction::BUFF
            } else {
                ApplyAction::FORW
            }),
            ..far
        }),
        Step::Handover { teid, .. } => {
            let gnb = Ipv4Addr::new(192, 0, 3, *teid as u8);
            let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(*teid).unwrap(), gnb);
            change.update_far.push(UpdateFar {
                update_forwarding_parameters: Some(UpdateForwardingParameters {
                    outer_header_creation: Some(Edit::Set(ohc)),
                    pfcpsmreq_flags: Some(SessionModificationRequestFlags::SNDEM),
                    ..Default::default()
                }),
                ..far
            });
        }
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
        let mut world = World { bench: Bench::new(), sessions: Vec::new() };
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
