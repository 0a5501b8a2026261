//! From what a procedure did once to a recipe: each value in its effects is traced to where it came
//! from.

use super::domain::{Domain, FormId};
use super::recipe::{
    Check, CreatedForm, CreditForm, DueForm, GoneLine, Recipe, Source, Take, TunnelChange, VALUES,
};
use super::session::{SessionForm, Written, first_same};
use crate::session::compile::render::Credit;
use crate::session::draft::Drafted;
use crate::session::ground::Step;
use crate::session::meter::Told;
use crate::session::rules::{Endpoint, Key, Pdr, RemoteTunnel, Rules};
use crate::session::settle;
use core::cell::RefCell;
use std::sync::Arc;

/// What a procedure did.
pub struct Done<'a> {
    /// The form of the session before.
    pub before: FormId,
    /// What is known of that form.
    pub was: Option<Arc<SessionForm>>,
    /// By value: it is of use.
    pub used: RefCell<[bool; VALUES]>,
    /// The values at hand before: those of the session's record, then those of the message.
    pub values: Vec<(Domain, u32)>,
    /// So many of them are the session's.
    pub of_session: usize,
    /// What was taken, in order.
    pub steps: &'a [Step],
    /// The rules before.
    pub installed: &'a Rules,
    /// The rules after.
    pub draft: &'a Rules,
    /// Transaction, and what waits for it.
    pub drafted: &'a Drafted,
    /// The record afterwards and its form.
    pub after: Option<(&'a Written, FormId)>,
    /// Identifiers of rules have four octets there.
    pub wide: bool,
    /// Octets of a record in front of what was written.
    pub usage_len: usize,
}

impl Done<'_> {
    /// The recipe, unless some value came from nowhere.
    pub fn bind(mut self) -> Option<Recipe> {
        if ordered_by_names(self.installed) || ordered_by_names(self.draft) {
            return None;
        }
        let checks = self.checks();
        let narrow = self.narrow();
        let shard = self.shard();
        let takes = self.takes()?;
        if self.values.len() > VALUES {
            return None;
        }
        let record = &*self.drafted.record;
        let urr = |id: &u32| self.find(Domain::Urr, *id);
        let mut recipe = Recipe {
            before: self.before,
            of_session: u8::try_from(self.of_session).ok()?,
            reads: Box::default(),
            checks,
            narrow,
            shard,
            takes,
            after: match self.after {
                Some((written, form)) => Some(self.record(written, form)?),
                None => None,
            },
            ops: all(&self.drafted.txn.ops, |op| self.op(op))?,
            end_markers: all(&self.drafted.txn.end_markers, |m| {
                let peer = self.find(Domain::Peer, m.peer.into())?;
                Some([peer, self.find(Domain::RemoteTeid, m.teid)?])
            })?,
            credits: all(&record.credits, |credit| match credit {
                Some(credit) => Some(Some(self.credit(credit)?)),
                None => Some(None),
            })?,
            peers: all(&record.peers, |p| self.find(Domain::Peer, (*p).into()))?,
            queried: all(&record.queried, urr)?,
            due: all(&record.due, |due| {
                Some(DueForm {
                    meter: self.find(Domain::Meter, due.meter)?,
                    trigger: due.trigger,
                    ends: due.ends,
                })
            })?,
            created: all(&record.created, |(pdr, tunnel)| {
                Some(CreatedForm {
                    pdr: self.find(Domain::Pdr, pdr.0.into())?,
                    teid: self.find(Domain::LocalTeid, tunnel.teid)?,
                    address: tunnel.address,
                    local: tunnel.local,
                })
            })?,
            gone: all(settle::gone_lines(self.installed, self.draft), |e| {
                self.gone(e)
            })?,
            gone_blocks: all(settle::gone_blocks(self.installed, self.draft), |b| {
                self.find(Domain::Block, b)
            })?,
            told: self.told()?,
            tunnels: all(settle::tunnels(self.installed, self.draft), |change| {
                self.tunnel(change)
            })?,
            reference: self.reference(),
            remarks: record.remarks,
        };
        recipe.reads = self.reads();
        Some(recipe)
    }

    /// Where a value came from: it is of use.
    pub fn find(&self, domain: Domain, value: u32) -> Option<Source> {
        let at = self.values.iter().position(|v| *v == (domain, value));
        at.map(|at| self.of_use(at))
    }

    fn of_use(&self, at: usize) -> Source {
        if let Some(used) = self.used.borrow_mut().get_mut(at) {
            *used = true;
        }
        at as Source
    }

    /// Each of the message's values is the same as one before it, or none.
    fn checks(&self) -> Box<[Check]> {
        let mut checks = Vec::new();
        for at in self.of_session..self.values.len() {
            let first = first_same(&self.values, at);
            let one = at as Source;
            if usize::from(first) < at {
                let (other, same) = (self.of_use(first.into()), true);
                checks.push(Check { one, other, same });
                continue;
            }
            for other in 0..at {
                let kinds = [at, other].map(|at| self.values.get(at).map(|v| v.0));
                let is_first = usize::from(first_same(&self.values, other)) == other;
                if kinds[0] == kinds[1] && is_first {
                    let (other, same) = (self.of_use(other), false);
                    checks.push(Check { one, other, same });
                }
            }
        }
        checks.into()
    }

    fn narrow(&self) -> Box<[Source]> {
        let of_message = self.values.iter().enumerate().skip(self.of_session);
        let rules = of_message.filter(|(_, (domain, _))| domain.is_rule() && !self.wide);
        rules.map(|(at, _)| at as Source).collect()
    }

    /// The UE address that the message names first.
    fn shard(&self) -> Option<Source> {
        let is_new = self.before == FormId::NO_SESSION;
        let mut kinds = self.values.iter().map(|v| v.0);
        let at = kinds.position(|kind| kind == Domain::UeAddress);
        at.filter(|_| is_new).map(|at| at as Source)
    }

    fn reference(&self) -> Option<Source> {
        let mut kinds = self.values.iter().map(|v| v.0);
        let at = kinds.position(|kind| kind == Domain::Reference);
        at.map(|at| at as Source)
    }

    fn takes(&mut self) -> Option<Box<[Take]>> {
        let steps = self.steps;
        let mut takes = Vec::with_capacity(steps.len());
        for step in steps {
            let (take, gives): (Take, &[_]) = match *step {
                Step::NewTeid { local, teid, line } => (
                    Take::NewTeid { local },
                    &[(Domain::LocalTeid, teid), (Domain::Line, line)],
                ),
                Step::NamedTeid {
                    local,
                    teid,
                    line,
                    origin,
                } => (
                    Take::NamedTeid {
                        local,
                        teid: self.find(Domain::LocalTeid, teid)?,
                        origin,
                    },
                    &[(Domain::Line, line)],
                ),
                Step::UeLine {
                    instance,
                    address,
                    line,
                    origin,
                } => (
                    Take::UeLine {
                        instance,
                        address: self.find(Domain::UeAddress, address)?,
                        origin,
                    },
                    &[(Domain::Line, line)],
                ),
                Step::Block { block } => (Take::Block, &[(Domain::Block, block)]),
                Step::Meter { meter } => (self.meter(meter)?, &[(Domain::Meter, meter)]),
                Step::Peer {
                    side,
                    instance,
                    address,
                    peer,
                } => (
                    Take::Peer {
                        side,
                        instance,
                        address: self.find(Domain::RemoteAddress, address)?,
                    },
                    &[(Domain::Peer, u32::from(peer))],
                ),
            };
            takes.push(take);
            self.values.extend_from_slice(gives);
        }
        Some(takes.into())
    }

    fn meter(&self, meter: u32) -> Option<Take> {
        let urr = self.draft.urrs.iter().find(|u| u.meter == meter)?;
        Some(Take::Meter {
            urr: self.find(Domain::Urr, urr.id.0)?,
            told: Told::by(urr.method, urr.information),
        })
    }

    fn credit(&self, credit: &Credit) -> Option<CreditForm> {
        Some(CreditForm {
            uplink: credit.uplink,
            meters: all(credit.meters.as_slice(), |m| self.find(Domain::Meter, *m))?,
        })
    }

    fn gone(&self, endpoint: &Endpoint) -> Option<GoneLine> {
        let (space, is_tunnel, key) = match endpoint.key {
            Key::Tunnel { local, teid } => (local, true, self.find(Domain::LocalTeid, teid)?),
            Key::Ue { instance, address } => {
                (instance, false, self.find(Domain::UeAddress, address)?)
            }
            Key::Spare => return None,
        };
        Some(GoneLine {
            space,
            is_tunnel,
            key,
            line: self.find(Domain::Line, endpoint.line)?,
            origin: endpoint.origin,
        })
    }

    /// Meters of URRs that stay and are to tell something else.
    fn told(&self) -> Option<Box<[(Source, Told)]>> {
        let told = |rules: &Rules, meter| {
            let urr = rules.urrs.iter().find(|u| u.meter == meter)?;
            Some(Told::by(urr.method, urr.information))
        };
        let stay = self.draft.urrs.iter().map(|u| u.meter);
        let changed = stay.filter_map(|meter| {
            let before = told(self.installed, meter)?;
            let after = told(self.draft, meter)?;
            (before != after).then_some((meter, after))
        });
        all(changed, |(meter, told)| {
            Some((self.find(Domain::Meter, meter)?, told))
        })
    }

    fn tunnel(&self, (sends, tunnel): (bool, RemoteTunnel)) -> Option<TunnelChange> {
        Some(TunnelChange {
            sends,
            teid: self.find(Domain::RemoteTeid, tunnel.teid)?,
            address: self.find(Domain::RemoteAddress, tunnel.address.into())?,
        })
    }
}

/// All of them bound, or none.
fn all<T, B>(
    items: impl IntoIterator<Item = T>,
    bind: impl FnMut(T) -> Option<B>,
) -> Option<Box<[B]>> {
    items.into_iter().map(bind).collect()
}

/// True if PDRs of one line are tried in the order of their identifiers: what is not compared for
/// equality alone is not learned.
fn ordered_by_names(rules: &Rules) -> bool {
    let rank = |pdr: &Pdr| (pdr.key(), pdr.precedence);
    let live = || rules.pdrs.iter().filter(|p| p.is_live());
    live()
        .enumerate()
        .any(|(i, one)| live().skip(i + 1).any(|other| rank(one) == rank(other)))
}
