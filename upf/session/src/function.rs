//! The UP function: dispatch of N4 messages, transactions and timers to their procedures.

use crate::config::Config;
use crate::network::Network;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::pending::Share;
use crate::prefetch::PrefetchStages;
use crate::procedure::report::{downlink_data, error_indication};
use crate::procedure::{
    association, association_release, deletion, establishment, flow_change, measurement,
    modification, node_report, pfd_management, put, report, set_deletion,
};
use crate::reports::events::SessionEvent;
use crate::reports::path_reports::PathChange;
use crate::reports::report_queue::ReportCounters;
use crate::resources::{NatCounters, NatRecord, percent};
use crate::rules::{Key, Rules};
use crate::{completion, conformance, prefetch};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use sluice_datapath::bells::{Bell, BellCause};
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::exact_match::{ExactKey, ExactReader, ExactWriter};
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::NatUnits;
use sluice_datapath::session::flow_filter::FlowFilters;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{Endpoint, Input, Instant, RequestError, Role, SessionRequest, messages};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::NtpTime;
use sluice_wire::pfcp::{Cause, IeType, MessageType};

/// The N4 side of a UPF: associations, sessions, and their compiled rules.
///
/// It has no clock, socket or thread, and allocates nothing for a session request once as many
/// transactions were under way at a time as ever will be. Call [`next_deadline`] after every
/// other call, and [`tick`] when it has come.
///
/// [`next_deadline`]: Self::next_deadline
/// [`tick`]: Self::tick
pub struct UpFunction {
    pub(crate) node: Node,
    /// Identifiers outside of the pools, and IPv6 prefixes, as the path finds them.
    known: ExactReader,
}

impl UpFunction {
    /// A UP function without associations. Its features are set here; `foreign` is the writer of
    /// the path's table of identifiers that others chose.
    pub fn new(config: Config, mut n4: sluice_n4::Config, foreign: ExactWriter) -> Self {
        let features = conformance::up_function_features(&config);
        n4.features.up = Some(features);
        // TS 29.244, 6.2.6.2.2: Session Retention Information is honoured.
        n4.retains_sessions = true;
        let associations = n4.limits.associations;
        let known = foreign.reader();
        let node = Node {
            node_id: n4.node_id.clone(),
            endpoint: Endpoint::new(Role::Up, n4),
            part: Part::new(&config, associations, foreign),
            shared: Shared::new(config, features, associations),
        };
        Self { node, known }
    }

    /// The path's table of identifiers that others chose.
    #[cfg(test)]
    pub fn known(&self) -> &ExactReader {
        &self.known
    }

    /// Deals with a datagram that arrived on N4.
    pub fn handle<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        peer: SocketAddr,
        bytes: &[u8],
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        for message in messages(bytes) {
            match self.node.endpoint.handle(now, peer, message, out) {
                Input::Nothing => {}
                // Where it lies: it is large.
                Input::Session(ref request) => {
                    request_arrived(&mut self.node, at, request, net, out)
                }
                Input::Response(response) => {
                    let Node { shared, part, .. } = &mut self.node;
                    if let Some(launch) = association::answered(shared, part, at, &response, net) {
                        completion::launch(&mut self.node, at, launch, net, out);
                    }
                }
            }
            association::events(&mut self.node, at);
        }
        node_report::tell_all(&mut self.node, at, out);
        end_sessions(&mut self.node, at, net, out);
    }

    /// Deals with a transaction that came back from the packet path.
    pub fn complete<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        txn: Box<Txn>,
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        completion::complete(&mut self.node, at, txn, net, out);
        end_sessions(&mut self.node, at, net, out);
    }

    /// Does what is due.
    pub fn tick<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        self.node.endpoint.tick(now, out);
        association::events(&mut self.node, at);
        let Node { shared, part, .. } = &mut self.node;
        association::give_up_silent_peers(shared, part, now);
        part.reports.end_delays(now);
        set_deletion::walk(shared, part);
        flow_change::walk(&mut self.node, at, net, out);
        node_report::tell_all(&mut self.node, at, out);
        end_sessions(&mut self.node, at, net, out);
    }

    /// When [`tick`](Self::tick) has something to do next.
    pub fn next_deadline(&self) -> Option<Instant> {
        let Node { shared, part, .. } = &self.node;
        let gives_up = shared.associations.next_given_up();
        let delayed = part.reports.next_deadline();
        let node_report = shared.paths.next_try;
        let timers = part.timers.next_s();
        // Where there is no room the next measurement waits for a transaction that comes back.
        let timers = timers.filter(|_| part.pending.has_room_for(Share::Measurements));
        let timers = timers.map(|at_s| Instant(u64::from(at_s) * 1_000_000_000));
        let endpoint = self.node.endpoint.next_deadline();
        // Every tick goes on with it.
        let flows = part.flow_walk.is_under_way() && part.pending.has_room_for(Share::FlowChanges);
        let walk = (flows || part.set_walk.is_some()).then_some(Instant(0));
        [endpoint, gives_up, delayed, node_report, timers, walk]
            .into_iter()
            .flatten()
            .min()
    }

    /// The entry of the session that has an IPv6 prefix of 64 bits in a network instance. It may err, as the
    /// path's table may: the entry knows its prefix.
    pub fn entry_of_prefix(&self, instance: InstanceId, prefix: u64) -> Option<EntryId> {
        self.known.get(self.known.ue_prefix(instance.0, prefix))
    }

    /// Whether an address leads to a session in a network instance: a UE has it, or it lies in a prefix behind one.
    pub fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool {
        let entry = match address {
            IpAddr::V4(address) => {
                let address = address.to_bits();
                if self
                    .node
                    .part
                    .resources
                    .is_pool_entry_used(instance, address)
                {
                    return true;
                }
                let own = self.known.get(ExactKey::ue(instance.0, address));
                own.or_else(|| self.known.route_ipv4(instance.0, address))
            }
            IpAddr::V6(address) => {
                let upper = (address.to_bits() >> 64) as u64;
                let own = self.entry_of_prefix(instance, upper);
                own.or_else(|| self.known.route_ipv6(instance.0, upper))
            }
        };
        entry.is_some()
    }

    /// Whether the session with this entry has its UE's addresses in a network instance. Sessions are known by entries
    /// with rules that report or lead elsewhere; of others it says no.
    pub fn has_ue_in(&self, entry: EntryId, instance: InstanceId) -> bool {
        let part = &self.node.part;
        let Some(name) = part.session_of_entry(entry) else {
            return false;
        };
        let mut rules = Box::<Rules>::default();
        part.store.load(name, &mut rules);
        // The entry may be another session's by now.
        let is_its = rules.entries().any(|endpoint| endpoint.entry == entry);
        let instance = instance.0;
        is_its && rules.endpoint(Key::Ue { instance }).is_some()
    }

    /// An Error Indication (TS 29.281, 7.3.1) that `peer` sent about a TEID of its own.
    pub fn error_indication<E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        peer: IpAddr,
        teid: u32,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        error_indication::arrived(&mut self.node.part, peer, teid);
        report::send_due(&mut self.node, at, out);
    }

    /// A worker has found something that a session has to report.
    pub fn bell<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        bell: &Bell,
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        let part = &mut self.node.part;
        match bell.cause {
            BellCause::Usage => measurement::rung(part, at, bell.entry),
            BellCause::DownlinkData { at: rule, dscp } => {
                downlink_data::arrived(part, at, bell.entry, rule, dscp);
            }
        }
        end_sessions(&mut self.node, at, net, out);
    }

    /// What was reported to CP functions, and what waits.
    pub fn reports(&self) -> ReportCounters {
        self.node.part.reports.counters()
    }

    /// What became of paths to tunnel peers: CP functions are told by Node Reports (TS 23.527, 5.2).
    pub fn paths_changed<E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        changes: &[PathChange],
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        node_report::paths_changed(&mut self.node, at, changes, out);
        association::events(&mut self.node, at);
    }

    /// How much of their time workers spend on packets, on average, in percent: beside how full tables are it
    /// makes this node's load, which CP functions are told (TS 29.244, 6.2.3). Call it about once a second.
    pub fn measure_load(&mut self, now: Instant, workers_percent: u8) {
        let Node { shared, part, .. } = &mut self.node;
        let of_sessions = percent(part.store.len(), shared.config.sessions);
        let tables = part.resources.fullest_percent();
        let load = workers_percent.max(of_sessions).max(tables);
        shared.load.measured(now, load);
    }

    /// This node's load as it was measured last, and the reduction of requests that is asked for, in percent.
    pub fn load_percent(&self) -> [u8; 2] {
        let load = &self.node.shared.load;
        [load.percent(), load.reduction_percent()]
    }

    /// Paths to tunnel peers that have failed.
    pub fn failed_paths(&self) -> usize {
        self.node.shared.paths.failed_count()
    }

    /// Sets up the association with the CP function at `to`, until it is there and again when it
    /// has restarted; it ends when the CP function releases it (6.2.6.3).
    ///
    /// # Errors
    /// If there is one already, or no room for one more.
    pub fn associate<E: Effects>(
        &mut self,
        now: Instant,
        to: SocketAddr,
        out: &mut E,
    ) -> Result<(), RequestError> {
        // What sessions there were ended with the UP function that had them.
        let associated = self.node.endpoint.associate(now, to, false, out);
        associated.map(|_| ())
    }

    /// Asks every CP function to release its association within `period_s` seconds (SARR, Graceful
    /// Release Period), with 0 at once. New sessions are refused from now on.
    pub fn begin_release<N: Network, E: Effects>(
        &mut self,
        now: Instant,
        wall: NtpTime,
        period_s: u32,
        net: &mut N,
        out: &mut E,
    ) {
        let at = Moment { now, wall };
        association::ask_for_release(&mut self.node, now, period_s, out);
        association::events(&mut self.node, at);
        end_sessions(&mut self.node, at, net, out);
    }

    /// True while a CP function takes final reports, and until it has released its association.
    pub fn reports_before_release(&self) -> bool {
        association_release::is_under_way(&self.node)
    }

    /// True if no association and no session is left, and nothing is under way.
    pub fn is_released(&self) -> bool {
        let Node { endpoint, part, .. } = &self.node;
        endpoint.associations().next().is_none() && part.store.len() == 0 && part.pending.len() == 0
    }

    /// Asks the path for all counters of a session; [`SessionEvent::Queried`] with `token` tells when
    /// they have come in. False if there is no such session, or no room for a transaction.
    pub fn query<E: Effects>(&mut self, seid: u64, token: u64, out: &mut E) -> bool {
        completion::query(&mut self.node.part, seid, token, out)
    }

    /// The next event for the log.
    pub fn next_event(&mut self) -> Option<SessionEvent> {
        self.node.shared.next_event()
    }

    /// Transactions under way.
    pub fn under_way(&self) -> usize {
        self.node.part.pending.len()
    }

    /// Establishments that came again when the endpoint no longer knew them, and were not applied
    /// twice.
    pub fn repeated_establishments(&self) -> u64 {
        self.node.part.repeated
    }

    /// Sessions that kept the flows of an application when it got others, as tables were full.
    pub fn flows_kept(&self) -> u64 {
        self.node.part.flows_kept
    }

    /// How many applications there are.
    pub fn application_count(&self) -> usize {
        self.node.shared.applications.len()
    }

    /// The flow filters that rules name, for the path's tables.
    pub fn flow_filters(&self) -> FlowFilters {
        self.node.part.resources.filters.reader()
    }

    /// Who has which public ports, for the path's tables.
    pub fn nat_units(&self) -> NatUnits {
        self.node.part.resources.nat.reader()
    }

    /// The next record of who has, or had, a block of public ports.
    pub fn next_nat_record(&mut self) -> Option<NatRecord> {
        self.node.part.resources.nat.next_record()
    }

    /// Blocks of public ports, for counters.
    pub fn nat_counters(&self) -> NatCounters {
        self.node.part.resources.nat.counters()
    }

    /// The UE that has a public port of a network instance.
    pub fn nat_holder(&self, inside: InstanceId, address: Ipv4Addr, port: u16) -> Option<Ipv4Addr> {
        self.node.part.resources.nat.holder(inside, address, port)
    }

    /// The UE with this entry has all its public ports in use: it gets a further block, if it may have one.
    pub fn nat_full<E: Effects>(&mut self, entry: EntryId, out: &mut E) {
        completion::give_nat_block(&mut self.node.part, entry, out);
    }

    /// The PFCP endpoint, for its counters.
    pub fn endpoint(&self) -> &Endpoint {
        &self.node.endpoint
    }

    /// Datagrams will be [handled](Self::handle) soon: asks the caches for what the next of their stages needs.
    pub fn prefetch(&self, stages: &mut PrefetchStages<'_, '_>, step: usize) {
        stages.step(step, &self.node);
    }

    /// A transaction that came back will be [completed](Self::complete) soon: asks the caches for
    /// its session.
    pub fn prefetch_completion(&self, txn: &Txn) {
        prefetch::completion(&self.node, txn);
    }
}

fn request_arrived<N: Network, E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    net: &mut N,
    out: &mut E,
) {
    if node.shared.sets.has_retired() {
        set_deletion::forget_named(&node.shared, &mut node.part, request);
    }
    let launch = match request.header().message_type {
        MessageType::SESSION_ESTABLISHMENT_REQUEST => {
            establishment::establish(node, at, request, net, out)
        }
        MessageType::SESSION_MODIFICATION_REQUEST => {
            modification::modify(node, at, request, net, out)
        }
        MessageType::SESSION_DELETION_REQUEST => deletion::delete(node, at, request, out),
        MessageType::SESSION_SET_DELETION_REQUEST => {
            set_deletion::delete(node, at, request, out);
            None
        }
        MessageType::PFD_MANAGEMENT_REQUEST => {
            pfd_management::manage(node, at, request, out);
            None
        }
        _ => {
            refuse_unsupported(node, at, request, out);
            None
        }
    };
    if let Some(launch) = launch {
        completion::launch(node, at, launch, net, out);
    }
}

/// Sets of SMFs: a feature that is not advertised.
fn refuse_unsupported<E: Effects>(
    node: &mut Node,
    at: Moment,
    request: &SessionRequest<'_>,
    out: &mut E,
) {
    let Node {
        endpoint, node_id, ..
    } = node;
    let seid = request.header().seid.map(|_| Seid(0));
    // A peer that is gone needs no answer.
    let _ = endpoint.reply(at.now, request.reply, seid, out, |w| {
        put(w, IeType::NODE_ID, &node_id.as_wire())?;
        put(w, IeType::CAUSE, &Cause::SERVICE_NOT_SUPPORTED)
    });
}

/// Sessions end one after the other: those that nobody can name any more, and those of
/// associations on their way to their release. Then what the others have to report leaves.
#[inline]
fn end_sessions<N: Network, E: Effects>(node: &mut Node, at: Moment, net: &mut N, out: &mut E) {
    if node.part.store.has_doomed() || node.shared.associations.has_releases {
        end_some(node, at, net, out);
    }
    while let Some(launch) = measurement::next_due(&mut node.part, at) {
        completion::launch(node, at, launch, net, out);
    }
    report::send_due(node, at, out);
}

#[cold]
fn end_some<N: Network, E: Effects>(node: &mut Node, at: Moment, net: &mut N, out: &mut E) {
    while let Some(launch) = deletion::next_doomed(&mut node.shared, &mut node.part, at) {
        completion::launch(node, at, launch, net, out);
    }
    if !node.shared.associations.has_releases {
        return;
    }
    let mut goes_on = false;
    for place in 0..node.shared.associations.places() {
        let Some(id) = node.shared.associations.at(place) else {
            continue;
        };
        if association_release::announce(node, at, id, out) {
            while let Some(launch) =
                association_release::next_end(&mut node.shared, &mut node.part, at, id)
            {
                completion::launch(node, at, launch, net, out);
            }
        }
        goes_on |= association_release::conclude(node, at, id, out);
    }
    node.shared.associations.has_releases = goes_on;
}
