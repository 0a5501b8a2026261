//! Inspection views of sessions, for `sluice ctl`.

use crate::flows::sdf;
use crate::function::UpFunction;
use crate::network::Side;
use crate::node::Node;
use crate::resources::{InUse, home_shard};
use crate::rules::{Action, Far, FilterOrigin, Forwarding, Key, Pdr, Qer, Rules, UeAddresses, Urr};
use crate::store::{Session, SessionRef, User};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use serde::{Serialize, Serializer};
use sluice_datapath::session::txn::Usage;
use sluice_n4::{Association, AssociationId, State};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::value::{ApplyAction, BitRate, Gate, GateStatus};

/// A session in brief.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSummary {
    /// UP SEID; as text for JSON, whose readers round numbers of more than 53 bits (RFC 8259, 6).
    #[serde(serialize_with = "seid_in_hex")]
    pub seid: u64,
    /// CP SEID.
    #[serde(serialize_with = "seid_in_hex")]
    pub cp_seid: u64,
    /// Address of the CP F-SEID.
    pub cp_address: Option<IpAddr>,
    /// The association.
    pub association: String,
    /// IMSI of the User ID, empty if not told.
    pub imsi: String,
    /// The UE's IPv4 address.
    pub ue_address: Option<Ipv4Addr>,
    /// The UE's IPv6 prefix.
    pub ue_prefix: Option<String>,
    /// The shard.
    pub shard: u16,
    /// PDRs.
    pub pdrs: usize,
    /// Flow filters of its PDRs, those that several have in common once; `ctl session` has them as text.
    pub filters: usize,
    /// Uplink usage since establishment, as far as it was taken from the path.
    pub uplink: UsageView,
    /// Downlink usage.
    pub downlink: UsageView,
}

/// A session with its rules.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    /// In short.
    #[serde(flatten)]
    pub summary: SessionSummary,
    /// MSISDN of the User ID, empty if not told.
    pub msisdn: String,
    /// PDRs in order of precedence.
    pub pdr: Vec<PdrView>,
    /// FARs.
    pub far: Vec<FarView>,
    /// QERs.
    pub qer: Vec<QerView>,
    /// URRs.
    pub urr: Vec<UrrView>,
    /// Public addresses and ports that the UE has on N6, the newest block first; empty where nothing is
    /// translated.
    pub nat_blocks: Vec<String>,
}

/// Bytes and packets.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct UsageView {
    /// Inner bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// A PDR.
#[derive(Clone, Debug, Serialize)]
pub struct PdrView {
    /// PDR ID.
    pub id: u16,
    /// Precedence.
    pub precedence: u32,
    /// Source Interface.
    pub source: &'static str,
    /// Network Instance.
    pub network_instance: Option<String>,
    /// Local F-TEID: TEID.
    #[serde(serialize_with = "teid_in_hex")]
    pub teid: Option<u32>,
    /// Local F-TEID: address, that of IPv4 if there are two.
    pub tunnel_address: Option<IpAddr>,
    /// Its IPv6 address beside one of IPv4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel_address_ipv6: Option<Ipv6Addr>,
    /// UE IP Address: IPv4.
    pub ue_address: Option<Ipv4Addr>,
    /// UE IP Address: the IPv6 prefix.
    pub ue_prefix: Option<String>,
    /// The predefined rule that it is: PDRs that activate rules stand back, and their rules match in their place.
    pub predefined_rule: Option<String>,
    /// The application whose flows are its filters.
    pub application: Option<String>,
    /// SDF filters, of which a packet has to meet one; empty: all packets.
    pub filters: Vec<String>,
    /// QFIs that it matches; empty: all.
    pub qfi: Vec<u8>,
    /// False if it matches no packet: its filters are for a family of which the UE has no address, or predefined
    /// rules match in its place.
    pub live: bool,
    /// Outer Header Removal.
    pub removes_outer_header: bool,
    /// FAR ID.
    pub far: u32,
    /// QER IDs.
    pub qer: Vec<u32>,
    /// URR IDs.
    pub urr: Vec<u32>,
}

/// A FAR.
#[derive(Clone, Debug, Serialize)]
pub struct FarView {
    /// FAR ID.
    pub id: u32,
    /// What it does.
    pub action: &'static str,
    /// Apply Action as received: the names of its flags.
    pub apply_action: Vec<&'static str>,
    /// Destination Interface.
    pub destination: Option<&'static str>,
    /// Network Instance.
    pub network_instance: Option<String>,
    /// Outer Header Creation: TEID.
    #[serde(serialize_with = "teid_in_hex")]
    pub teid: Option<u32>,
    /// Outer Header Creation: address.
    pub peer: Option<IpAddr>,
}

/// A QER.
#[derive(Clone, Debug, Serialize)]
pub struct QerView {
    /// QER ID.
    pub id: u32,
    /// The uplink gate is open.
    pub uplink_open: bool,
    /// The downlink gate is open.
    pub downlink_open: bool,
    /// Maximum bit rate, uplink and downlink, kbit/s.
    pub mbr_kbps: Option<[u64; 2]>,
    /// Guaranteed bit rate, uplink and downlink, kbit/s.
    pub gbr_kbps: Option<[u64; 2]>,
    /// The QFI that it marks with.
    pub qfi: Option<u8>,
}

/// A URR with its usage since the last report.
#[derive(Clone, Debug, Serialize)]
pub struct UrrView {
    /// URR ID.
    pub id: u32,
    /// Measurement Method: the names of its flags.
    pub measurement_method: Vec<&'static str>,
    /// Reporting Triggers: the names of its flags.
    pub reporting_triggers: Vec<&'static str>,
    /// Uplink usage since the last report, as far as it was taken from the path.
    pub uplink: UsageView,
    /// Downlink usage.
    pub downlink: UsageView,
}

/// An application.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationView {
    /// Application ID.
    pub id: String,
    /// Whose flows it has: `upf.yaml`, or those of a `PFD management` that hold before them; `none` if it is
    /// unknown to new PDRs, and others match nothing.
    pub source: &'static str,
    /// PDRs that name it.
    pub pdrs: u32,
    /// Its flows.
    pub flows: Vec<String>,
}

/// An association with a CP function.
#[derive(Clone, Debug, Serialize)]
pub struct AssociationView {
    /// Its name here.
    pub id: String,
    /// The CP function's Node ID.
    pub node_id: Option<String>,
    /// Where requests to it go.
    pub address: String,
    /// Further addresses that it told or from which it was named; requests from there are its own.
    pub learned_addresses: Vec<String>,
    /// Where it stands.
    pub state: String,
    /// It does not answer.
    pub silent: bool,
    /// Its sessions.
    pub sessions: usize,
}

impl UpFunction {
    /// How many sessions there are.
    pub fn session_count(&self) -> usize {
        self.node.part.store.len()
    }

    /// What is given out of each resource.
    pub fn in_use(&self) -> InUse {
        let Node { shared, part, .. } = &self.node;
        part.resources.in_use(shared.sets.len())
    }

    /// All sessions, each in brief.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let mut rules = Box::<Rules>::default();
        let ids = self.node.endpoint.associations().map(|(id, _)| id);
        let all = ids.flat_map(|id| self.node.part.store.of(id));
        all.map(|(name, session)| {
            self.node.part.store.load(name, &mut rules);
            let user = self.node.part.store.user(name);
            let usage = self.node.part.store.usage(name);
            session_summary(name, &session, &user, &rules, usage)
        })
        .collect()
    }

    /// A session with its rules, by its UP SEID.
    pub fn session(&self, seid: u64) -> Option<SessionView> {
        let name = SessionRef::from_seid(Seid(seid));
        let session = self.node.part.store.get(name)?;
        let mut rules = Box::<Rules>::default();
        self.node.part.store.load(name, &mut rules);
        let user = self.node.part.store.user(name);
        let usage = self.node.part.store.usage(name);
        rules.pdrs.sort_by_key(|p| (p.precedence, p.id));
        Some(SessionView {
            summary: session_summary(name, &session, &user, &rules, usage),
            msisdn: user.msisdn.to_string(),
            pdr: rules
                .pdrs
                .iter()
                .map(|p| self.pdr_view(&rules, p))
                .collect(),
            far: rules.fars.iter().map(|f| self.far_view(f)).collect(),
            qer: rules.qers.iter().map(qer_view).collect(),
            urr: rules.urrs.iter().map(|u| self.urr_view(u)).collect(),
            nat_blocks: self.nat_blocks(&rules),
        })
    }

    /// The UP SEID of the session that has this UE address, or the prefix that it lies in. An IPv4 address
    /// tells the shard, and only sessions of that are looked into; a session with a prefix may be that of an
    /// IPv4 address too.
    pub fn seid_of_ue(&self, address: impl Into<IpAddr>) -> Option<u64> {
        let address = address.into();
        let shard = match address {
            IpAddr::V4(ipv4) => home_shard(&UeAddresses {
                ipv4: Some(ipv4),
                ..UeAddresses::default()
            }),
            IpAddr::V6(_) => None,
        };
        let mut rules = Box::<Rules>::default();
        let store = &self.node.part.store;
        let ids = self.node.endpoint.associations().map(|(id, _)| id);
        let mut near = ids
            .flat_map(|id| store.of(id))
            .filter(|(_, session)| shard.is_none_or(|shard| u32::from(session.shard) == shard));
        let found = near.find(|(name, _)| {
            store.load(*name, &mut rules);
            rules.ue.contains(address)
        });
        found.map(|(name, _)| name.seid().0)
    }

    /// All associations.
    pub fn associations(&self) -> Vec<AssociationView> {
        let all = self.node.endpoint.associations();
        all.map(|(id, association)| AssociationView {
            id: id.to_string(),
            node_id: association.node_id().map(ToString::to_string),
            address: association.primary().to_string(),
            learned_addresses: further_addresses(association),
            state: state_name(association.state()).to_owned(),
            silent: association.is_lost(),
            sessions: self.count_of(id),
        })
        .collect()
    }

    /// All applications, by name.
    pub fn applications(&self) -> Vec<ApplicationView> {
        let Node { shared, part, .. } = &self.node;
        let all = shared.applications.all(&part.uses.applications).into_iter();
        all.map(|of| ApplicationView {
            id: of.name.escape_ascii().to_string(),
            source: match of.flows {
                [] => "none",
                _ if of.is_told => "PFD management",
                _ => "upf.yaml",
            },
            pdrs: of.pdrs,
            flows: of.flows.iter().map(sdf::text).collect(),
        })
        .collect()
    }

    fn count_of(&self, id: AssociationId) -> usize {
        self.node.part.store.of(id).count()
    }

    fn nat_blocks(&self, rules: &Rules) -> Vec<String> {
        let nat = &self.node.part.resources.nat;
        let entries = rules.endpoints.iter();
        let entries = entries.filter(|e| matches!(e.key, Key::Ue { .. }));
        let blocks = entries.flat_map(|e| nat.held(e.entry));
        blocks
            .map(|(address, first, last)| format!("{address}:{first}-{last}"))
            .collect()
    }

    fn name(&self, id: crate::names::NameId) -> Option<String> {
        self.node.shared.names.get(id).map(str::to_owned)
    }

    fn pdr_view(&self, rules: &Rules, pdr: &Pdr) -> PdrView {
        let named = pdr
            .ue
            .map(|ue| rules.ue.of(ue.families))
            .unwrap_or_default();
        let addresses = pdr.tunnel.map(|t| t.addresses);
        let both = addresses.filter(|addresses| addresses.ipv4.is_some());
        let run = self.node.part.resources.filters.run(pdr.filter.run);
        PdrView {
            id: pdr.id.0,
            precedence: pdr.precedence,
            source: side_name(pdr.source),
            network_instance: self.name(pdr.instance),
            teid: pdr.tunnel.map(|t| t.teid),
            tunnel_address: pdr.tunnel.and_then(|t| t.addresses.all().next()),
            tunnel_address_ipv6: both.and_then(|addresses| addresses.ipv6),
            ue_address: named.ipv4,
            ue_prefix: named.prefix_text(),
            predefined_rule: self.predefined_name(pdr),
            application: self.application_name(pdr),
            filters: sdf::texts(pdr.filter, run),
            qfi: (0..64).filter(|q| pdr.qfis >> q & 1 == 1).collect(),
            live: rules.is_live(pdr),
            removes_outer_header: pdr.removes_outer,
            far: pdr.far.0,
            qer: pdr.qers.as_slice().to_vec(),
            urr: pdr.urrs.as_slice().to_vec(),
        }
    }

    fn predefined_name(&self, pdr: &Pdr) -> Option<String> {
        let FilterOrigin::Predefined(number) = pdr.filter.origin else {
            return None;
        };
        let (rule, _) = self.node.shared.config.predefined.get(number)?;
        Some(rule.name.clone())
    }

    fn application_name(&self, pdr: &Pdr) -> Option<String> {
        let FilterOrigin::Application(number) = pdr.filter.origin else {
            return None;
        };
        let name = self.node.shared.applications.name(number)?;
        Some(name.escape_ascii().to_string())
    }

    fn far_view(&self, far: &Far) -> FarView {
        FarView {
            id: far.id.0,
            action: match far.action {
                Action::Drop => "drop",
                Action::Forward => "forward",
                Action::Buffer => "buffer",
            },
            apply_action: ApplyAction::new(far.flags).names().collect(),
            destination: far.forwarding.map(|f| side_name(f.side)),
            network_instance: far
                .forwarding
                .and_then(|f: Forwarding| self.name(f.instance)),
            teid: far.tunnel().map(|t| t.teid),
            peer: far.tunnel().map(|t| t.address),
        }
    }

    fn urr_view(&self, urr: &Urr) -> UrrView {
        let meter = self.node.part.resources.meters.get(urr.meter);
        let [uplink, downlink] = meter.map(|m| m.usage).unwrap_or_default();
        UrrView {
            id: urr.id.0,
            measurement_method: urr.method.names().collect(),
            reporting_triggers: urr.triggers.names().collect(),
            uplink: uplink.into(),
            downlink: downlink.into(),
        }
    }
}

/// Addresses of a peer beside the one that it associated from; without the port where any will do.
fn further_addresses(association: &Association) -> Vec<String> {
    let all = association.addresses().iter();
    let further = all.filter(|known| known.ip() != association.primary().ip().to_canonical());
    let text = |known: &SocketAddr| match known.port() {
        0 => known.ip().to_string(),
        _ => known.to_string(),
    };
    further.map(text).collect()
}

fn seid_in_hex<S: Serializer>(seid: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{seid:#x}"))
}

fn teid_in_hex<S: Serializer>(teid: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
    match teid {
        Some(teid) => to.collect_str(&format_args!("{teid:#010x}")),
        None => to.serialize_none(),
    }
}

fn session_summary(
    name: SessionRef,
    session: &Session,
    user: &User,
    rules: &Rules,
    [uplink, downlink]: [Usage; 2],
) -> SessionSummary {
    let ipv4 = session.cp.ipv4.map(IpAddr::V4);
    SessionSummary {
        seid: name.seid().0,
        cp_seid: session.cp.seid.0,
        cp_address: ipv4.or(session.cp.ipv6.map(IpAddr::V6)),
        association: session.association.to_string(),
        imsi: user.imsi.to_string(),
        ue_address: rules.ue.ipv4,
        ue_prefix: rules.ue.prefix_text(),
        shard: session.shard,
        pdrs: rules.pdrs.len(),
        filters: filters(rules),
        uplink: uplink.into(),
        downlink: downlink.into(),
    }
}

/// The flow filters of different runs.
fn filters(rules: &Rules) -> usize {
    let runs = || rules.pdrs.iter().map(|pdr| pdr.filter.run);
    let firsts = runs()
        .enumerate()
        .filter(|(at, run)| runs().take(*at).all(|r| r != *run));
    firsts.map(|(_, run)| run.len()).sum()
}

fn qer_view(qer: &Qer) -> QerView {
    let kbps = |rate: BitRate| [rate.uplink_kbps, rate.downlink_kbps];
    let GateStatus { uplink, downlink } = qer.gate;
    QerView {
        id: qer.id.0,
        uplink_open: uplink == Gate::Open,
        downlink_open: downlink == Gate::Open,
        mbr_kbps: qer.mbr.map(kbps),
        gbr_kbps: qer.gbr.map(kbps),
        qfi: qer.qfi,
    }
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Connecting => "Connecting",
        State::Waiting => "Waiting",
        State::Up => "Up",
        State::Releasing => "Releasing",
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Access => "access",
        Side::Core => "core",
        Side::SgiLan => "n6-lan",
        Side::Control => "cp",
    }
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        let Usage { bytes, packets } = usage;
        Self { bytes, packets }
    }
}
