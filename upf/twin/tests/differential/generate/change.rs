//! Changes of sessions as SMFs make them, and some that no SMF should.

use super::{Generator, Session};
use crate::spec::*;
use crate::world::*;
use sluice_twin::Side;

impl Generator {
    /// Adds one kind of change.
    pub(super) fn change(&mut self, slot: Slot, change: &mut Change) {
        let Some(mut session) = self.sessions.get(&slot).cloned() else {
            change.query_all = true;
            return;
        };
        match self.rng.below(15) {
            0..=2 => self.move_downlink(&session, change),
            3 => self.idle(&session, change),
            4..=5 => self.other_qos(&session, change),
            6 if self.features.usage && self.rng.one_in(3) => {
                let timer = (!self.rng.one_in(4)).then(|| self.inactivity());
                change.inactivity = Some(timer);
            }
            6 => self.other_usage(&session, change),
            7 => self.new_rules(&mut session, change),
            8 => self.fewer_rules(&mut session, change),
            9 => self.other_pdr(&session, change),
            10..=11 => self.query(&session, change),
            12 => self.other_buffering(&mut session, change),
            13 if self.rng.one_in(2) => change.create.sets = self.some_sets(),
            13 => change.discards_held = true,
            _ => self.nonsense(change),
        }
        self.sessions.insert(slot, session);
    }

    /// Hand-over: the downlink FAR goes to another gNB.
    fn move_downlink(&mut self, session: &Session, change: &mut Change) {
        let Some(id) = self.any(session.rules.fars.iter().skip(1).map(|f| f.id)) else {
            return;
        };
        let to = self.gnb();
        change.fars.push(FarEdit {
            id,
            action: (!self.rng.one_in(3)).then_some(Action::Forward),
            to: Some(DestinationEdit {
                side: self.rng.one_in(2).then_some(Side::Access),
                instance: self.rng.one_in(3).then(|| self.maybe(ACCESS)),
                tunnel: Some(to.tunnel),
                marking: self.rng.one_in(3).then(|| self.marking()),
                end_marker: self.rng.one_in(2),
            }),
            bar: None,
            as_created: self.rng.one_in(6),
        });
    }

    fn idle(&mut self, session: &Session, change: &mut Change) {
        let Some(id) = self.any(session.rules.fars.iter().map(|f| f.id)) else {
            return;
        };
        let actions = [
            Action::Drop,
            Action::Buffer,
            Action::BufferAndNotify,
            Action::Forward,
        ];
        let action = self.rng.pick(&actions);
        let forgets_tunnel = self.rng.one_in(3);
        change.fars.push(FarEdit {
            id,
            action: Some(action),
            to: forgets_tunnel.then(|| DestinationEdit {
                side: Some(Side::Access),
                tunnel: Some(None),
                ..DestinationEdit::default()
            }),
            bar: self
                .rng
                .one_in(6)
                .then(|| self.any(session.rules.bars.iter().map(|b| b.id))),
            as_created: false,
        });
        change.discards_held |= self.rng.one_in(4);
    }

    /// BARs that come, change, go, with their FARs or without.
    fn other_buffering(&mut self, session: &mut Session, change: &mut Change) {
        let bars = &mut session.rules.bars;
        match self.any(bars.iter().map(|b| b.id)) {
            Some(id) if self.rng.one_in(2) => {
                let packets = self.bar().packets;
                change.bars.push(BarSpec { id, packets });
            }
            Some(id) => {
                bars.retain(|b| b.id != id);
                change.remove_bars.push(id);
                let of_bar = |f: &&FarSpec| f.bar == Some(id) && !self.rng.one_in(4);
                let fars: Vec<u32> = session
                    .rules
                    .fars
                    .iter()
                    .filter(of_bar)
                    .map(|f| f.id)
                    .collect();
                change.fars.extend(fars.into_iter().map(|id| FarEdit {
                    id,
                    action: None,
                    to: None,
                    bar: Some(None),
                    as_created: false,
                }));
            }
            None => {
                let bar = self.bar();
                bars.push(bar);
                change.create.bars.push(bar);
            }
        }
    }

    fn other_qos(&mut self, session: &Session, change: &mut Change) {
        let Some(id) = self.any(session.rules.qers.iter().map(|q| q.id)) else {
            return;
        };
        let new = self.qer(id);
        change.qers.push(QerEdit {
            id,
            open: self.rng.one_in(2).then_some(new.open),
            mbr: self.rng.one_in(2).then_some(new.mbr),
            gbr: self.rng.one_in(4).then_some(new.gbr),
            qfi: self.rng.one_in(4).then_some(new.qfi),
        });
    }

    fn other_usage(&mut self, session: &Session, change: &mut Change) {
        if let Some(id) = self.any(session.rules.urrs.iter().map(|u| u.id)) {
            let urr = self.urr(id);
            change.urrs.push(urr);
        }
    }

    /// A PDR of the same tunnel or address, perhaps with a FAR, a QER and a URR of its own.
    fn new_rules(&mut self, session: &mut Session, change: &mut Change) {
        let rules = &mut session.rules;
        let id = self.rng.within(10, 12) as u16;
        let Some(of) = self.any(rules.pdrs.iter().map(|p| p.id)) else {
            return;
        };
        let Some(like) = rules.pdrs.iter().find(|p| p.id == of).cloned() else {
            return;
        };
        let mut pdr = PdrSpec {
            id,
            precedence: self.rng.pick(&[1, 100, 400]),
            f_teid: match like.f_teid {
                TeidSpec::None => TeidSpec::None,
                _ if self.rng.one_in(4) => TeidSpec::Choose,
                _ => TeidSpec::OfPdr(of),
            },
            filters: vec![],
            ..like
        };
        self.other_prefix(session.ue, &mut pdr);
        if self.features.filters && self.rng.one_in(2) {
            pdr.filters = self.flow_filters(&session.ue);
        }
        if self.rng.one_in(2) && pdr.f_teid != TeidSpec::None {
            pdr.qfis = vec![self.rng.pick(&[1, 5, 9])];
        }
        let own = u32::from(id);
        if self.rng.one_in(2) {
            let qer = self.qer(own);
            pdr.qers.push(own);
            change.create.qers.push(qer.clone());
            rules.qers.push(qer);
        }
        if self.rng.one_in(2) {
            let urr = self.urr(own);
            pdr.urrs.push(own);
            change.create.urrs.push(urr.clone());
            rules.urrs.push(urr);
        }
        if self.rng.one_in(2) && pdr.source == Side::Core {
            pdr.far = own;
            let far = FarSpec {
                id: own,
                action: Action::Forward,
                to: Some(self.gnb()),
                bar: None,
            };
            change.create.fars.push(far.clone());
            rules.fars.push(far);
        }
        change.create.pdrs.push(pdr.clone());
        rules.pdrs.push(pdr);
    }

    fn fewer_rules(&mut self, session: &mut Session, change: &mut Change) {
        let rules = &mut session.rules;
        let Some(id) = self.any(rules.pdrs.iter().map(|p| p.id)) else {
            return;
        };
        if self.rng.one_in(4) {
            // A URR that all PDRs leave, then goes itself.
            let Some(urr) = self.any(rules.urrs.iter().map(|u| u.id)) else {
                return;
            };
            let still_named = self.rng.one_in(6);
            for pdr in rules.pdrs.iter_mut().filter(|p| p.urrs.contains(&urr)) {
                pdr.urrs.retain(|u| *u != urr);
                if !still_named {
                    change.pdrs.push(PdrEdit {
                        urrs: Some(pdr.urrs.clone()),
                        ..unchanged(pdr.id)
                    });
                }
            }
            rules.urrs.retain(|u| u.id != urr);
            change.remove_urrs.push(urr);
            return;
        }
        rules.pdrs.retain(|p| p.id != id);
        change.remove_pdrs.push(id);
        if self.rng.one_in(2) {
            let used = |id: u32| rules.pdrs.iter().any(|p| p.far == id);
            let unused: Vec<u32> = rules
                .fars
                .iter()
                .map(|f| f.id)
                .filter(|f| !used(*f))
                .collect();
            rules.fars.retain(|f| !unused.contains(&f.id));
            change.remove_fars.extend(unused);
            let used = |id: u32| rules.pdrs.iter().any(|p| p.qers.contains(&id));
            let unused: Vec<u32> = rules
                .qers
                .iter()
                .map(|q| q.id)
                .filter(|q| !used(*q))
                .collect();
            rules.qers.retain(|q| !unused.contains(&q.id));
            change.remove_qers.extend(unused);
        }
    }

    fn other_pdr(&mut self, session: &Session, change: &mut Change) {
        let rules = &session.rules;
        let Some(id) = self.any(rules.pdrs.iter().map(|p| p.id)) else {
            return;
        };
        let Some(pdr) = rules.pdrs.iter().find(|p| p.id == id) else {
            return;
        };
        let mut edit = unchanged(id);
        match self.rng.below(7) {
            5..=6 if self.features.predefined => self.other_predefined(&mut edit),
            0 => edit.precedence = Some(self.rng.pick(&[1, 2, 200, 500])),
            1 => edit.far = self.any(rules.fars.iter().map(|f| f.id)),
            2 => edit.qers = Some(self.some_of(rules.qers.iter().map(|q| q.id))),
            3 => edit.urrs = Some(self.some_of(rules.urrs.iter().map(|u| u.id))),
            _ => {
                let qfis = match self.rng.below(3) {
                    0 => vec![],
                    1 => vec![9],
                    _ => vec![1, 5],
                };
                let filters = match self.features.filters && self.rng.one_in(2) {
                    true => self.flow_filters(&session.ue),
                    false => vec![],
                };
                if filters.is_empty() || self.rng.one_in(10) {
                    edit.application = self.other_application();
                }
                edit.flow = Some((pdr.source, qfis, filters));
            }
        }
        change.pdrs.push(edit);
    }

    fn other_predefined(&mut self, edit: &mut PdrEdit) {
        if !self.rng.one_in(3) {
            edit.on = self.rule_names();
        }
        if self.rng.one_in(2) {
            edit.off = self.rule_names();
        }
        match self.rng.below(24) {
            0 => edit.on.push("gold"),
            1 => edit.off.push("gold"),
            _ => {}
        }
    }

    fn query(&mut self, session: &Session, change: &mut Change) {
        match self.rng.one_in(3) {
            true => change.query_all = true,
            false => change.query = self.some_of(session.rules.urrs.iter().map(|u| u.id)),
        }
    }

    /// What must be refused as a whole.
    fn nonsense(&mut self, change: &mut Change) {
        match self.rng.below(10) {
            0 => change.remove_pdrs.push(77),
            1 => change.remove_urrs.push(77),
            2 => change.query.push(77),
            3 => change.pdrs.push(PdrEdit {
                far: Some(77),
                ..unchanged(1)
            }),
            4 => change.create.urrs.push(self.urr(1)),
            5 => change.remove_bars.push(77),
            6 => change.bars.push(BarSpec {
                id: 77,
                packets: None,
            }),
            // A QER of a predefined rule is none of the CP function's.
            7 => change.create.qers.push(self.qer(1 << 31)),
            8 => change.pdrs.push(PdrEdit {
                qers: Some(vec![1 << 31]),
                ..unchanged(1)
            }),
            _ => change.remove_fars.push(1),
        }
    }

    fn any<T: Copy>(&mut self, from: impl Iterator<Item = T>) -> Option<T> {
        let all: Vec<T> = from.collect();
        (!all.is_empty()).then(|| self.rng.pick(&all))
    }

    fn some_of(&mut self, from: impl Iterator<Item = u32>) -> Vec<u32> {
        from.filter(|_| self.rng.one_in(2)).collect()
    }
}

fn unchanged(id: u16) -> PdrEdit {
    PdrEdit {
        id,
        precedence: None,
        far: None,
        qers: None,
        urrs: None,
        flow: None,
        application: None,
        on: vec![],
        off: vec![],
    }
}
