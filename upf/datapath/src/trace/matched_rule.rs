//! The PDR and rules that a traced packet matches.

use super::RuleSeen;
use crate::forward::far;
use crate::forward::path::Path;
use crate::forward::pdr::{self, At, Detect, FlowOf};
use crate::forward::rules;
use crate::ids::BlockId;
use crate::meta::Meta;
use crate::session::rule::{Body, Flags, Head};
use sluice_port::PortIo;

impl<I: PortIo> Path<'_, I> {
    /// The rule that a packet meets, asked once more and apart from the stages.
    pub(super) fn rule_seen(&self, meta: &Meta, flow: FlowOf<'_>) -> Option<RuleSeen> {
        let entry = self.state.entry(meta.entry.0)?;
        rules::check(entry, meta, &self.tables.filters).ok()?;
        let detect = Detect {
            flow,
            ..Detect::of(meta, entry, &[], &self.tables.filters)
        };
        let seen = |head: Head, body: &Body, at, is_limited| {
            let peer = self.tables.tunnel_peer(body.peer());
            let peer = peer.filter(|_| far::makes_tunnel(head));
            RuleSeen {
                entry: meta.entry,
                at,
                head,
                is_limited,
                tunnel: peer.map(|peer| (peer.address(), head.teid)),
            }
        };
        let link_rules = entry.head.flags.has(Flags::LINK_RULES) && detect.is_on_link();
        let link_rules = link_rules.then_some(BlockId(entry.head.teid));
        let first = |chain| pdr::first(chain, &detect, |number| self.state.ext(number.0)).ok();
        let in_block = |at: At| {
            let rule = self.state.ext(at.block().0)?.rules.get(at.rule())?;
            let is_limited = rule.buckets.iter().any(|bucket| bucket.get().is_some());
            Some(seen(rule.head, &rule.body, Some(at), is_limited))
        };
        if let Some(at) = link_rules.and_then(first) {
            return in_block(at);
        }
        match entry.block() {
            None => {
                pdr::only(entry.head, &detect).ok()?;
                let rates = [entry.body.rate0, entry.body.rate1];
                let is_limited = rates.iter().any(|rate| rate.is_limited());
                Some(seen(entry.head, &entry.body, None, is_limited))
            }
            Some(chain) => in_block(first(chain)?),
        }
    }
}
