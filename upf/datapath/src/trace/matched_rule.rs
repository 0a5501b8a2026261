//! The PDR and rules that a traced packet matches.

use super::RuleSeen;
use crate::forward::far;
use crate::forward::path::Path;
use crate::forward::pdr;
use crate::forward::rules;
use crate::meta::Meta;
use crate::session::rule::{Body, Head};
use sluice_port::PortIo;

impl<I: PortIo> Path<'_, I> {
    /// The rule that a packet meets, asked once more and apart from the stages.
    pub(super) fn rule_seen(&self, meta: &Meta) -> Option<RuleSeen> {
        let line = self.state.line(meta.line.0)?;
        rules::check(line, meta).ok()?;
        let seen = |head: Head, body: &Body, at, is_limited| {
            let peer = self.tables.peers.get(body.peer);
            let peer = peer.filter(|_| far::makes_tunnel(head));
            RuleSeen {
                line: meta.line,
                at,
                head,
                is_limited,
                tunnel: peer.map(|peer| (peer.address, body.teid)),
            }
        };
        match line.block() {
            None => {
                pdr::only(line.head, meta).ok()?;
                let rates = [line.body.rate0, line.body.rate1];
                let is_limited = rates.iter().any(|rate| rate.is_limited());
                Some(seen(line.head, &line.body, None, is_limited))
            }
            Some(chain) => {
                let at = pdr::first(chain, meta, |number| self.state.ext(number.0)).ok()?;
                let rule = self.state.ext(at.block().0)?.rules.get(at.rule())?;
                let is_limited = rule.buckets.iter().any(|bucket| bucket.get().is_some());
                Some(seen(rule.head, &rule.body, Some(at), is_limited))
            }
        }
    }
}
