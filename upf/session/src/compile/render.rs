//! Rendering of session entries, extension blocks and buckets: a function of the rules and their
//! places alone, so that what is installed need not be kept but can be rendered again.

use crate::compile::image::{
    BucketImage, CellImage, ChainImage, Credit, Drops, EntryImage, Image, Limiter, RuleImage,
    Watcher,
};
use crate::compile::{Member, rate_kbps};
use crate::config::{MbrZero, ShapedRates};
use crate::network::Side;
use crate::rules::{Action, Endpoint, Families, Far, Key, Pdr, Qer, Rules, Urr};
use sluice_datapath::forward::pdr::At;
use sluice_datapath::ids::{BlockId, EgressId, RecordId};
use sluice_datapath::limits::{BLOCK_RULES, RECORD_RULES, RULE_QERS};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{Body, BucketRef, Flags, Head, Rule};
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::usage_record::{
    AwaitsPacket, LostRests, NEVER, RecordImage, Restart, WatchedRule,
};
use sluice_wire::pfcp::value::Gate;

/// The session needs more than an image holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl Image {
    /// An empty one.
    pub fn new(mbr_zero: MbrZero, shaped_rates: ShapedRates) -> Self {
        Self {
            mbr_zero,
            shaped_rates,
            ..Self::default()
        }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.holding.clear();
        self.rules.clear();
        self.chains.clear();
        self.buckets.clear();
        self.cells.clear();
        self.watched.clear();
    }

    /// Operations that it takes to remove all of it.
    pub fn len(&self) -> usize {
        let records = self.cells.len()
            + self
                .entries
                .iter()
                .filter(|e| e.record != RecordId(0))
                .count();
        let held = self.holding.len();
        let entries = self.entries.len() + held + records;
        let drops = self.entries.iter().filter(|e| e.drops.is_some()).count()
            + self.rules.iter().filter(|r| r.drops.is_some()).count();
        entries + drops + self.rules.len() + self.chains.len() + self.buckets.len()
    }

    /// Renders the rules.
    pub fn render(&mut self, rules: &Rules) -> Result<(), TooLarge> {
        self.render_entries(rules, |_| true)?;
        self.render_cells(rules)?;
        self.render_buckets(rules)
    }

    /// Renders the usage record, behind the rules that it watches.
    fn render_cells(&mut self, rules: &Rules) -> Result<(), TooLarge> {
        let mut urrs = rules.watching();
        let mut session = rules.inactivity;
        let mut watched = self.watched.iter().copied();
        let mut cells = rules.cells().peekable();
        while let Some(at) = cells.next() {
            let next = RecordId(cells.peek().copied().unwrap_or(0));
            let urr = urrs.next();
            let of_session = match urr {
                Some(_) => None,
                None => session.take(),
            };
            let awaits_packet = match (urr, of_session) {
                (Some(urr), _) => urr.clock.awaits_packet,
                (None, Some(session)) => session.awaits_packet,
                (None, None) => AwaitsPacket::NEVER,
            };
            let mut image = RecordImage {
                next,
                threshold: urr.map_or([NEVER; 3], Urr::thresholds),
                restart: urr.map_or(Restart::Now, restart),
                quota: urr.map_or(Some([NEVER; 3]), |u| u.renewed.quota.then(|| u.quotas())),
                awaits_start: urr.and_then(|u| u.renewed.start.then(|| u.awaits_start())),
                awaits_packet,
                stops: urr.is_some_and(|u| u.clock.stops),
                before_qos: urr.is_some_and(Urr::is_before_qos),
                lost: urr.map_or(LostRests::NEVER, Urr::lost_rests),
                restarts_lost: urr.is_none_or(|urr| urr.renewed.lost),
                rules: [(WatchedRule::NONE, 0); RECORD_RULES],
            };
            for (place, rule) in image.rules.iter_mut().zip(watched.by_ref()) {
                *place = rule;
            }
            let cell = CellImage {
                at: RecordId(at),
                image,
                watcher: match (urr, of_session) {
                    (Some(urr), _) => Watcher::Urr(urr.meter),
                    (None, Some(_)) => Watcher::Session,
                    (None, None) => Watcher::Nobody,
                },
            };
            self.cells.try_push(cell).map_err(|_| TooLarge)?;
        }
        // There are as many cells as rules take.
        watched.next().map_or(Ok(()), |_| Err(TooLarge))
    }

    /// Renders what it takes to clear all that the rules have: of an entry without blocks where it is and
    /// whose usage it holds.
    pub fn render_to_clear(&mut self, rules: &Rules) -> Result<(), TooLarge> {
        self.clear();
        for endpoint in rules.entries() {
            self.note_holding(rules, endpoint)?;
            match rules.first_member(endpoint.key) {
                Some(first) if !endpoint.has_blocks() => {
                    let image = EntryImage {
                        at: endpoint.entry,
                        entry: SessionEntry::default(),
                        credit: Some(credit(rules, first.pdr)),
                        qers: [None; 2],
                        is_rewritten: false,
                        notifies: None,
                        record: RecordId(0),
                        drops: drops(rules, first.pdr, |uplink| {
                            WatchedRule::of_entry(endpoint.entry, uplink)
                        }),
                    };
                    self.entries.try_push(image).map_err(|_| TooLarge)?;
                }
                _ => self.render_entry_itself(rules, endpoint)?,
            }
        }
        // Of the cells only their places are asked for.
        self.watched.clear();
        self.render_cells(rules)?;
        self.render_buckets(rules)
    }

    fn render_buckets(&mut self, rules: &Rules) -> Result<(), TooLarge> {
        for qer in &rules.qers {
            for uplink in [true, false] {
                let at = qer.buckets[usize::from(!uplink)];
                if at != BucketRef::NONE {
                    let rate = self.rate(qer, uplink);
                    let of = limiter(qer, uplink);
                    let bucket = BucketImage { at, rate, of };
                    self.buckets.try_push(bucket).map_err(|_| TooLarge)?;
                }
            }
        }
        Ok(())
    }

    /// Renders some of the entries, and no shared buckets.
    pub fn render_entries(
        &mut self,
        rules: &Rules,
        wanted: impl Fn(&Endpoint) -> bool,
    ) -> Result<(), TooLarge> {
        self.clear();
        for endpoint in rules.entries().filter(|e| wanted(e)) {
            self.render_entry(rules, endpoint)?;
        }
        Ok(())
    }

    fn render_entry(&mut self, rules: &Rules, endpoint: &Endpoint) -> Result<(), TooLarge> {
        self.note_holding(rules, endpoint)?;
        self.render_entry_itself(rules, endpoint)
    }

    /// Entries behind which some rule holds packets.
    fn note_holding(&mut self, rules: &Rules, endpoint: &Endpoint) -> Result<(), TooLarge> {
        if rules.holds_behind(endpoint.key) {
            self.holding.try_push(endpoint.entry).map_err(|_| TooLarge)
        } else {
            Ok(())
        }
    }

    fn render_entry_itself(&mut self, rules: &Rules, endpoint: &Endpoint) -> Result<(), TooLarge> {
        let Some(first) = &rules.entry_member(endpoint) else {
            return self.render_blind(rules, endpoint);
        };
        let mut image = EntryImage {
            at: endpoint.entry,
            entry: entry(rules, endpoint, first.pdr),
            credit: None,
            qers: [None; 2],
            is_rewritten: false,
            notifies: None,
            record: RecordId(0),
            drops: None,
        };
        let block = endpoint.blocks[0];
        if block == 0 || endpoint.link_rules {
            self.put_own_rule(rules, first, &mut image)?;
        }
        if block != 0 {
            let mark = if endpoint.link_rules {
                Flags::LINK_RULES
            } else {
                Flags::EXTENDED
            };
            let head = &mut image.entry.head;
            (head.flags, head.teid) = (head.flags.with(mark), block);
            if mark == Flags::EXTENDED {
                image.entry = image.entry.with_routes(rules.routes.run);
            }
            let members = rules.chained(endpoint);
            if members.iter().any(|member| rules.is_watched(member.pdr)) {
                image.record = first_cell(rules);
            }
            self.render_chain(rules, endpoint, &members)?;
        }
        self.entries.try_push(image).map_err(|_| TooLarge)
    }

    /// The rule that stands in the entry itself.
    fn put_own_rule(
        &mut self,
        rules: &Rules,
        member: &Member<'_>,
        image: &mut EntryImage,
    ) -> Result<(), TooLarge> {
        let pdr = member.pdr;
        let limiters = rules.limiters(pdr);
        let uplink = rules.is_uplink(pdr);
        let qers = [0, 1].map(|i| rules.qer(*limiters.as_slice().get(i)?));
        image.qers = qers.map(|q| q.map(|q| limiter(q, uplink)));
        let local = image.entry.local();
        image.entry.head = self.head(rules, member, image.entry.head.flags);
        image.entry.body = body(rules, pdr);
        image.entry = image.entry.at_local(local);
        let rates = qers.map(|q| q.map_or(Rate::UNLIMITED, |q| self.rate(q, uplink)));
        (image.entry.body.rate0, image.entry.body.rate1) = (rates[0], rates[1]);
        if rules.is_timed(pdr) {
            // There is place: rules with two rates stand in blocks then.
            image.entry.body.rate1 = Rate::STAMP;
        }
        image.credit = Some(credit(rules, pdr));
        image.is_rewritten = is_rewritten(rules, pdr);
        image.notifies = notifying(rules, pdr).map(|far| far.id);
        if rules.is_watched(pdr) {
            image.entry.body.usage = image.entry.body.usage.awaiting_grants();
            image.record = first_cell(rules);
            self.watch(rules, pdr, WatchedRule::of_entry(image.at, uplink))?;
            image.drops = drops(rules, pdr, |uplink| WatchedRule::of_entry(image.at, uplink));
        }
        Ok(())
    }

    /// URRs of a PDR watch a rule that it compiles into.
    fn watch(
        &mut self,
        rules: &Rules,
        pdr: &Pdr,
        rule: Option<WatchedRule>,
    ) -> Result<(), TooLarge> {
        let watching = (0..).zip(rules.watching());
        let bits = watching.filter(|(_, u)| u.is_active() && pdr.urrs.contains(u.id.0));
        let of_session = match rules.inactivity {
            Some(_) => 1 << rules.watching().count(),
            None => 0,
        };
        let bits = bits.fold(of_session, |bits, (at, _)| bits | 1 << at);
        let rule = rule.ok_or(TooLarge)?;
        let counts_drops = rules.counts_drops(pdr).then_some((rule.drops(), 0));
        let mut places = [Some((rule, bits)), counts_drops].into_iter().flatten();
        places.try_for_each(|place| self.watched.try_push(place).map_err(|_| TooLarge))
    }

    /// A tunnel or address whose PDRs match no packet: its packets find an empty chain, block 0. Without the
    /// entry the peer would be told that there is no such tunnel.
    fn render_blind(&mut self, rules: &Rules, endpoint: &Endpoint) -> Result<(), TooLarge> {
        let behind = |p: &&Pdr| p.key() == Some(endpoint.key);
        let Some(pdr) = rules.pdrs.iter().find(behind) else {
            return Ok(());
        };
        let mut entry = entry(rules, endpoint, pdr);
        entry.head.flags = entry.head.flags.with(Flags::EXTENDED);
        entry = entry.with_routes(rules.routes.run);
        let image = EntryImage {
            at: endpoint.entry,
            entry,
            credit: None,
            qers: [None; 2],
            is_rewritten: false,
            notifies: None,
            record: RecordId(0),
            drops: None,
        };
        self.entries.try_push(image).map_err(|_| TooLarge)
    }

    fn render_chain(
        &mut self,
        rules: &Rules,
        endpoint: &Endpoint,
        members: &[Member<'_>],
    ) -> Result<(), TooLarge> {
        for (i, part) in members.chunks(BLOCK_RULES).enumerate() {
            let block = endpoint.blocks.get(i).copied().ok_or(TooLarge)?;
            let next = endpoint.blocks.get(i + 1).copied().unwrap_or(0);
            let rules_len = part.len() as u8;
            let chain = ChainImage {
                block: BlockId(block),
                next: BlockId(next),
                rules_len,
            };
            self.chains.try_push(chain).map_err(|_| TooLarge)?;
            for (at, member) in (0..).zip(part) {
                let mut rule = self.shared_rule(rules, member);
                if rules.is_watched(member.pdr) {
                    rule.body.usage = rule.body.usage.awaiting_grants();
                    rule.record = first_cell(rules);
                    let place = At::new(BlockId(block), usize::from(at)).ok_or(TooLarge)?;
                    let uplink = rules.is_uplink(member.pdr);
                    self.watch(rules, member.pdr, WatchedRule::in_block(place, uplink))?;
                }
                let image = RuleImage {
                    block: BlockId(block),
                    at,
                    rule,
                    credit: credit(rules, member.pdr),
                    is_rewritten: is_rewritten(rules, member.pdr),
                    notifies: notifying(rules, member.pdr).map(|far| far.id),
                    drops: drops(rules, member.pdr, |uplink| {
                        WatchedRule::in_block(At::new(BlockId(block), usize::from(at))?, uplink)
                    }),
                };
                self.rules.try_push(image).map_err(|_| TooLarge)?;
            }
        }
        Ok(())
    }

    fn shared_rule(&self, rules: &Rules, member: &Member<'_>) -> Rule {
        let pdr = member.pdr;
        let uplink = rules.is_uplink(pdr);
        let flags = Flags::none().with_if(Flags::UPLINK, uplink);
        let mut buckets = [BucketRef::NONE; RULE_QERS];
        let limiters = rules.limiters(pdr);
        for (bucket, id) in buckets.iter_mut().zip(limiters.as_slice()) {
            let direction = usize::from(!uplink);
            *bucket = rules
                .qer(*id)
                .map_or(BucketRef::NONE, |q| q.buckets[direction]);
        }
        let head = self.head(rules, member, flags);
        let mut body = body(rules, pdr);
        if rules.is_timed(pdr) {
            body.rate1 = Rate::STAMP;
        }
        Rule::new(head, pdr.filter.run, buckets, body)
    }

    fn head(&self, rules: &Rules, member: &Member<'_>, flags: Flags) -> Head {
        let pdr = member.pdr;
        let far = rules.far(pdr.far);
        let forwards = far.is_some_and(|f| {
            f.action == Action::Forward && (f.peer.is_some() || f.egress.is_some())
        });
        let tunnel = forwards && far.is_some_and(|f| f.peer.is_some());
        let qers = || pdr.qers.as_slice().iter().filter_map(|id| rules.qer(*id));
        let closed = qers().any(|q| self.is_closed(q, rules.is_uplink(pdr)));
        let mark = qfi(qers()).filter(|_| tunnel);
        let holds = far.is_some_and(|f| f.action == Action::Buffer);
        let of_family = rules.families_of(pdr);
        let is_narrowed = of_family != rules.families();
        let to_cp = far.is_some_and(|f| f.action == Action::Forward && is_lost_to_cp(f));
        Head {
            flags: flags
                .with_if(Flags::FORWARD, forwards)
                .with_if(Flags::N4U, to_cp || (tunnel && !joins_tunnels(rules, pdr)))
                .with_if(Flags::HOLD, holds)
                .with_if(Flags::REMOVE_OUTER, pdr.removes_outer)
                .with_if(Flags::CREATE_OUTER, tunnel)
                .with_if(Flags::GATE_CLOSED, closed)
                .with_if(Flags::MARK_QFI, mark.is_some())
                .with_if(
                    Flags::MATCH_IPV4,
                    is_narrowed && of_family == Families::IPV4,
                )
                .with_if(
                    Flags::MATCH_IPV6,
                    is_narrowed && of_family == Families::IPV6,
                )
                .with_if(Flags::MATCH_QFI, member.qfi.is_some()),
            qfi_match: member.qfi.unwrap_or(0),
            // A rule that holds tells the flow that it reports, so that it is written anew with another.
            mark_and_notify: mark.or(holds.then(|| qfi(qers())).flatten()).unwrap_or(0),
            teid: far
                .filter(|_| tunnel)
                .and_then(Far::tunnel)
                .map_or(0, |t| t.teid),
        }
        .notifying(notifying(rules, pdr).is_some())
        .counting_drops(rules.counts_drops(pdr))
    }

    fn rate(&self, qer: &Qer, uplink: bool) -> Rate {
        let bps = rate_kbps(qer, uplink).unwrap_or(0).saturating_mul(1000);
        let rate = Rate::from_bps(bps).unwrap_or(Rate::UNLIMITED);
        match self.shaped_rates {
            ShapedRates::All => rate.shaped(),
            ShapedRates::SessionAmbr if !qer.is_of_gbr_flow() => rate.shaped(),
            ShapedRates::SessionAmbr | ShapedRates::Nothing => rate,
        }
    }

    /// A gate that is closed, or a rate at which nothing passes.
    fn is_closed(&self, qer: &Qer, uplink: bool) -> bool {
        let gate = if uplink {
            qer.gate.uplink
        } else {
            qer.gate.downlink
        };
        let nothing = self.mbr_zero == MbrZero::Closed && rate_kbps(qer, uplink) == Some(0);
        gate == Gate::Closed || nothing
    }
}

/// An update of a FAR that notifies sets the mark again, whatever else it changes (TS 29.244, 5.2.3.1).
fn is_rewritten(rules: &Rules, pdr: &Pdr) -> bool {
    notifying(rules, pdr).is_some_and(|far| far.is_updated)
}

/// The FAR of a PDR, if the CP function is to hear of its packets: downlink ones (NOCP, 8.2.26).
fn notifying<'r>(rules: &'r Rules, pdr: &Pdr) -> Option<&'r Far> {
    let far = rules.far(pdr.far).filter(|far| far.notifies());
    far.filter(|_| !rules.is_uplink(pdr))
}

/// What an entry says of itself, whatever its rules.
fn entry(rules: &Rules, endpoint: &Endpoint, pdr: &Pdr) -> SessionEntry {
    let (key, local, tunnel) = match endpoint.key {
        Key::Tunnel { local, teid } => (teid, local, true),
        Key::Ue { instance } => (rules.ue.ipv4_u32(), instance, false),
        Key::Spare => (0, 0, false),
    };
    let mut others = rules.pdrs.iter();
    let to_ue = |p: &Pdr| p.key() == Some(endpoint.key) && !rules.is_uplink(p);
    let flags = Flags::none()
        .with_if(Flags::TUNNEL, tunnel)
        .with_if(Flags::UPLINK, rules.is_uplink(pdr))
        .with_if(Flags::FROM_UE, tunnel && pdr.is_from_access())
        .with_if(Flags::TO_UE, tunnel && others.any(to_ue));
    // The UE sends from its own addresses only, and another UPF sends to them alone, whether or not
    // the PDI repeats them.
    SessionEntry {
        ue_prefix: rules.ue.prefix_u64(),
        key,
        ue_ip: rules.ue.ipv4_u32(),
        head: Head {
            flags,
            ..Head::default()
        },
        ..SessionEntry::default()
    }
    .at_local(local)
}

/// The QFI of a PDR's packets, if its QERs tell one.
pub fn qfi_of(rules: &Rules, pdr: &Pdr) -> Option<u8> {
    let ids = pdr.qers.as_slice().iter();
    qfi(ids.filter_map(|id| rules.qer(*id)))
}

/// The QFI that packets are marked with: the first of a flow, else 0 if a QER says so.
fn qfi<'r>(qers: impl Iterator<Item = &'r Qer>) -> Option<u8> {
    let told = qers.filter_map(|q| q.qfi);
    told.reduce(|first, next| if first == 0 { next } else { first })
}

/// Whether a tunnel that packets of a PDR come by may go on by that of its FAR: N3 and N9 are ends of one way, while
/// N4-u and N6 are none of it.
fn joins_tunnels(rules: &Rules, pdr: &Pdr) -> bool {
    let is_on_way = |side| matches!(side, Side::Access | Side::Core);
    let to = rules.far(pdr.far).and_then(|far| far.forwarding);
    is_on_way(pdr.source) && to.is_some_and(|to| is_on_way(to.side))
}

fn is_lost_to_cp(far: &Far) -> bool {
    far.forwarding.is_some_and(|f| f.is_lost())
}

fn body(rules: &Rules, pdr: &Pdr) -> Body {
    let Some(far) = rules.far(pdr.far) else {
        return Body::default();
    };
    match far.action {
        Action::Drop => return Body::default(),
        Action::Buffer => {
            let bar = rules.bar_of(far);
            return Body::to_hold(bar.and_then(|bar| bar.packets));
        }
        Action::Forward => {}
    }
    match far.peer {
        Some(peer) => Body::to_peer(peer),
        None => Body::to_egress(far.egress.unwrap_or(EgressId(0))),
    }
}

fn limiter(qer: &Qer, uplink: bool) -> Limiter {
    Limiter {
        qer: qer.id.0,
        uplink,
        is_new: qer.is_new,
    }
}

/// By which a session's usage record is known.
fn first_cell(rules: &Rules) -> RecordId {
    RecordId(rules.cells().next().unwrap_or(0))
}

/// When the measurement of a URR begins anew on the path.
fn restart(urr: &Urr) -> Restart {
    if urr.renewed.threshold {
        Restart::Now
    } else {
        Restart::IfMarked(urr.told())
    }
}

/// URRs whose measurement is inactive (INAM) get nothing.
fn credit(rules: &Rules, pdr: &Pdr) -> Credit {
    credit_to(rules, pdr, false)
}

/// The credit of what passes, or of what gate and bit rates drop.
fn credit_to(rules: &Rules, pdr: &Pdr, of_drops: bool) -> Credit {
    let urrs = pdr.urrs.as_slice().iter().filter_map(|id| rules.urr(*id));
    let counting = urrs.filter(|u| u.is_active() && (!of_drops || u.is_before_qos()));
    Credit {
        uplink: rules.is_uplink(pdr),
        meters: counting.map(|u| u.meter).collect(),
        of_drops,
    }
}

/// Where what is dropped of a rule's packets counts, if it does for any URR.
fn drops(rules: &Rules, pdr: &Pdr, rule: impl Fn(bool) -> Option<WatchedRule>) -> Option<Drops> {
    let rule = rule(rules.is_uplink(pdr)).filter(|_| rules.counts_drops(pdr))?;
    Some(Drops {
        record: first_cell(rules),
        rule,
        credit: credit_to(rules, pdr, true),
    })
}
