//! The state of one session, and the steps that a change takes from it.

use arrayvec::ArrayVec;
use sluice_wire::ids::Seid;

use crate::dialect::profile::{BeforeGnb, FirstGnb, Idle};
use crate::encode::{SessionChange, SessionView};
use crate::{Dialect, Flow, SessionPlan, Tunnel};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The gNB's tunnel is known now (TS 23.502, 4.3.2.2.1 step 16).
    Connect(Tunnel),
    /// The UE is at another gNB (TS 23.502, 4.9.1.2).
    SwitchPath(Tunnel),
    /// The UE is idle (TS 23.502, 4.2.6).
    Idle,
    /// Downlink packets are dropped, whatever the dialect does when a UE is idle.
    DropDownlink,
    /// The UE is back (TS 23.502, 4.2.3).
    Activate(Tunnel),
    /// The flow of the plan is made, where it does not come with the session
    /// (TS 23.502, 4.3.3).
    AddFlow,
    /// The usage is asked for.
    Query,
    /// Grant of further octets, both directions together, for every URR (TS 29.244, 5.2.2.2).
    Grant(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rules {
    None,
    UplinkOnly,
    Both,
}

#[derive(Debug)]
pub(super) struct Session {
    pub plan: SessionPlan,
    pub cp_seid: Seid,
    /// 0 until the UPF has told it.
    pub up_seid: Seid,
    /// The UPF's end of the tunnel.
    pub uplink: Option<Tunnel>,
    /// Waits for an answer.
    pub busy: bool,
    gnb: Option<Tunnel>,
    generation: u32,
    rules: Rules,
    /// A flow that the UPF does not know yet.
    pending_flow: Option<Flow>,
}

impl Session {
    pub fn new(dialect: Dialect, mut plan: SessionPlan, cp_seid: Seid) -> Self {
        let rules = match dialect.profile().far.before_gnb {
            BeforeGnb::Absent => Rules::UplinkOnly,
            _ => Rules::Both,
        };
        let gnb = plan.gnb.filter(|_| rules == Rules::Both);
        let with_session = dialect
            .profile()
            .flow
            .as_ref()
            .is_some_and(|f| f.with_session);
        let pending_flow = if with_session { None } else { plan.flow.take() };
        let (up_seid, generation) = (Seid(0), 0);
        Self {
            plan,
            cp_seid,
            up_seid,
            uplink: None,
            busy: true,
            gnb,
            generation,
            rules,
            pending_flow,
        }
    }

    pub fn view(&self) -> SessionView<'_> {
        SessionView {
            plan: &self.plan,
            cp_seid: self.cp_seid,
            up_seid: self.up_seid,
            gnb: self.gnb,
            generation: self.generation,
        }
    }

    pub fn steps(&self, dialect: Dialect, change: Change) -> ArrayVec<SessionChange, 2> {
        let style = &dialect.profile().change;
        let one = |step| ArrayVec::from_iter([step]);
        match change {
            Change::Query => one(SessionChange::Query),
            Change::Grant(octets) => one(SessionChange::Grant(octets)),
            Change::AddFlow => std::iter::once(SessionChange::AddFlow)
                .chain(self.gnb.map(|gnb| SessionChange::Connect {
                    gnb,
                    end_marker: false,
                }))
                .collect(),
            Change::DropDownlink => one(SessionChange::Drop),
            Change::Idle => match style.idle {
                Idle::Remove => one(SessionChange::RemoveRules),
                Idle::Buffer { .. } => one(SessionChange::Buffer),
            },
            Change::Connect(gnb) | Change::SwitchPath(gnb) | Change::Activate(gnb) => {
                let connect = |end_marker| SessionChange::Connect { gnb, end_marker };
                let updates = style.first_gnb != FirstGnb::CreateRules;
                let is_switch = matches!(change, Change::SwitchPath(_)) || !updates;
                match self.rules {
                    Rules::None => [SessionChange::MakeUplink, connect(false)].into(),
                    Rules::UplinkOnly => one(connect(false)),
                    Rules::Both if is_switch => one(SessionChange::SwitchPath { gnb }),
                    Rules::Both => {
                        let replaces = matches!(
                            style.idle,
                            Idle::Buffer {
                                end_marker_after: true,
                                ..
                            }
                        );
                        let is_back = matches!(change, Change::Activate(_));
                        one(connect(is_back && replaces))
                    }
                }
            }
        }
    }

    /// Before a step is encoded.
    pub fn begin(&mut self, step: SessionChange) {
        self.busy = true;
        if step == SessionChange::MakeUplink {
            self.generation += 1;
        }
        if step == SessionChange::AddFlow {
            self.plan.flow = self.pending_flow.take();
        }
    }

    /// After the UPF has refused a step, or not answered.
    pub fn abandon(&mut self, step: SessionChange) {
        if step == SessionChange::AddFlow {
            self.pending_flow = self.plan.flow.take();
        }
    }

    /// Whether there is a flow to be added.
    pub fn has_pending_flow(&self) -> bool {
        self.pending_flow.is_some()
    }

    /// After the UPF has accepted a step.
    pub fn complete(&mut self, step: SessionChange) {
        match step {
            SessionChange::Connect { gnb, .. } | SessionChange::SwitchPath { gnb } => {
                (self.gnb, self.rules) = (Some(gnb), Rules::Both);
            }
            SessionChange::RemoveRules => (self.gnb, self.rules) = (None, Rules::None),
            SessionChange::MakeUplink => self.rules = Rules::UplinkOnly,
            SessionChange::Buffer
            | SessionChange::Drop
            | SessionChange::AddFlow
            | SessionChange::Query
            | SessionChange::Grant(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use sluice_wire::ids::{Qfi, Teid};

    use super::*;
    use crate::Network;

    fn session(dialect: Dialect) -> Session {
        let network = Network::new("internet", "access", "core").unwrap();
        let ue = Ipv4Addr::new(10, 45, 0, 2);
        let plan = SessionPlan::new(ue, Arc::new(network), Qfi::new(1).unwrap());
        Session::new(dialect, plan, Seid(1))
    }

    fn gnb(n: u8) -> Tunnel {
        Tunnel {
            teid: Teid::new(n.into()).unwrap(),
            address: Ipv4Addr::new(10, 0, 0, n).into(),
        }
    }

    /// Does the changes and gives the steps of the last one.
    fn last(dialect: Dialect, changes: &[Change]) -> Vec<SessionChange> {
        let mut session = session(dialect);
        let mut last = Vec::new();
        for change in changes {
            last = session.steps(dialect, *change).to_vec();
            for step in &last {
                session.begin(*step);
                session.complete(*step);
            }
        }
        last
    }

    #[test]
    fn oai_makes_all_rules_anew_after_idle() {
        let changes = [
            Change::Connect(gnb(1)),
            Change::Idle,
            Change::Activate(gnb(2)),
        ];
        let connect = SessionChange::Connect {
            gnb: gnb(2),
            end_marker: false,
        };
        assert_eq!(
            last(Dialect::Oai, &changes),
            [SessionChange::MakeUplink, connect]
        );
        assert_eq!(
            last(Dialect::Oai, &changes[..2]),
            [SessionChange::RemoveRules]
        );
    }

    #[test]
    fn oai_updates_downlink_rules_that_are_there() {
        let changes = [
            Change::Connect(gnb(1)),
            Change::DropDownlink,
            Change::Activate(gnb(2)),
        ];
        assert_eq!(
            last(Dialect::Oai, &changes),
            [SessionChange::SwitchPath { gnb: gnb(2) }]
        );
    }

    #[test]
    fn only_free5gc_sends_an_end_marker_after_idle() {
        for dialect in [
            Dialect::Ts,
            Dialect::Open5gs,
            Dialect::Free5gc,
            Dialect::SdCore,
        ] {
            let changes = [
                Change::Connect(gnb(1)),
                Change::Idle,
                Change::Activate(gnb(1)),
            ];
            let end_marker = dialect == Dialect::Free5gc;
            let expected = [SessionChange::Connect {
                gnb: gnb(1),
                end_marker,
            }];
            assert_eq!(last(dialect, &changes), expected, "{dialect}");
        }
    }
}
