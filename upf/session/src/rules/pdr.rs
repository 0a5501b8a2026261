//! Packet Detection Rules, and their octets in a session's record.

use crate::limits::{ENDPOINTS, TUNNEL_IPV6_ADDRESSES};
use crate::names::NameId;
use crate::network::{Side, TunnelAddresses, TunnelEndpoint};
use crate::rules::endpoint::{Endpoint, Key};
use crate::rules::octets::{Kinds, OctetReader, OctetWriter, bit, bit8};
use crate::rules::ue::{Families, RecordUe, UeMatch};
use crate::rules::{IdList, TunnelIpv4, TunnelIpv6};
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_wire::ids::{FarId, PdrId, Teid};
use sluice_wire::limits::{QERS_PER_PDR, URRS_PER_PDR};
use sluice_wire::pfcp::value::FTeid;

/// A Packet Detection Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pdr {
    /// PDR ID.
    pub id: PdrId,
    /// Precedence; lower values are tried first.
    pub precedence: u32,
    /// Source Interface.
    pub source: Side,
    /// Network Instance of the PDI.
    pub instance: NameId,
    /// Local F-TEID, whoever chose it.
    pub tunnel: Option<LocalTunnel>,
    /// The CHOOSE ID that the F-TEID was given for: others of the session with it get the same
    /// (TS 29.244, 5.5.3).
    pub choose_id: Option<u8>,
    /// UE IP Address; without F-TEID always there, as packets enter by it.
    pub ue: Option<UeMatch>,
    /// QFIs of the PDI, one bit each; 0 matches all.
    pub qfis: u64,
    /// What the SDF filters say, or the application.
    pub filter: Filter,
    /// Outer Header Removal: GTP-U/UDP/IP.
    pub removes_outer: bool,
    /// Its FAR.
    pub far: FarId,
    /// Its QERs.
    pub qers: IdList<QERS_PER_PDR>,
    /// Its URRs.
    pub urrs: IdList<URRS_PER_PDR>,
}

/// What a PDR's SDF filters let through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Packets of these families.
    pub families: Families,
    /// Of these, packets that meet one filter of the run.
    pub run: FilterRun,
    /// Of these, packets of the UE's link alone: from or to link-local addresses, or to groups.
    pub is_link: bool,
    /// Whose filters they are.
    pub origin: FilterOrigin,
}

/// Where the filters of a PDR come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FilterOrigin {
    /// The PDI has them.
    #[default]
    Pdi,
    /// The PDR stands back: predefined rules that it activates match in its place.
    StandsBack,
    /// They are those of the predefined rule with this number: the PDR is one of them.
    Predefined(u16),
    /// They are those of the application with this number, which the PDI names.
    Application(u16),
}

impl Filter {
    /// Everything.
    pub const ALL: Self = Self {
        families: Families::BOTH,
        run: FilterRun::NONE,
        is_link: false,
        origin: FilterOrigin::Pdi,
    };

    /// Nothing.
    pub const NOTHING: Self = Self {
        families: Families::NONE,
        ..Self::ALL
    };

    /// Nothing: predefined rules match in the PDR's place.
    pub const STANDS_BACK: Self = Self {
        origin: FilterOrigin::StandsBack,
        ..Self::NOTHING
    };
}

/// A tunnel endpoint of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its addresses, those that were asked for.
    pub addresses: TunnelAddresses,
    /// The endpoint's number on the path.
    pub local: u8,
}

impl LocalTunnel {
    /// True if it was given with these addresses at this endpoint.
    pub fn is_at(&self, endpoint: &TunnelEndpoint) -> bool {
        self.local == endpoint.local && self.addresses == endpoint.addresses
    }

    /// As it stands in an F-TEID; none of TEID 0, which is nobody's.
    pub fn f_teid(&self) -> Option<FTeid> {
        let TunnelAddresses { ipv4, ipv6 } = self.addresses;
        let teid = Teid::new(self.teid)?;
        Some(FTeid::Assigned { teid, ipv4, ipv6 })
    }
}

impl Pdr {
    /// True for packets that the RAN sends, or another UPF nearer to it.
    pub fn is_from_access(&self) -> bool {
        self.source == Side::Access
    }

    /// True for a PDR as the CP function knows it, false for a predefined rule that matches in its place.
    pub fn is_own(&self) -> bool {
        !matches!(self.filter.origin, FilterOrigin::Predefined(_))
    }

    /// The entry by which its packets enter.
    pub fn key(&self) -> Option<Key> {
        match (self.tunnel, self.ue) {
            (Some(t), _) => Some(Key::Tunnel {
                local: t.local,
                teid: t.teid,
            }),
            (None, Some(ue)) => Some(Key::Ue {
                instance: ue.instance,
            }),
            (None, None) => None,
        }
    }
}

/// What PDRs of a record are written and read by.
pub struct PdrForm<'r> {
    pub kinds: Kinds,
    pub ue: RecordUe,
    /// F-TEIDs name their endpoint, the record's IPv6 addresses and the addresses known of endpoints.
    pub endpoints: &'r [Endpoint],
    pub ipv6: &'r TunnelIpv6,
    pub ipv4: &'r TunnelIpv4,
}

/// The record of a PDR.
impl Pdr {
    /// Writes the rule; `before` is the one that was written last.
    pub fn write(&self, form: &PdrForm<'_>, before: Option<&Self>, pen: &mut OctetWriter<'_>) {
        let kinds = form.kinds;
        let has_same = before.is_some_and(|p| p.qers == self.qers && p.urrs == self.urrs);
        let usual_ue = form.ue.usual(self.tunnel.is_some());
        let other_ue = self.ue.filter(|ue| *ue != usual_ue);
        let (qers, urrs) = (self.qers.as_slice(), self.urrs.as_slice());
        let bits = self.source.bits()
            | bit(PDR_FILTER, self.filter != Filter::ALL)
            | bit(PDR_REMOVES, self.removes_outer)
            | bit(PDR_TUNNEL, self.tunnel.is_some())
            | bit(PDR_UE, self.ue.is_some())
            | bit(PDR_OWN_UE, other_ue.is_some())
            | bit(PDR_QFIS, self.qfis != 0)
            | if has_same {
                SAME_LISTS << PDR_QERS
            } else {
                (qers.len() as u16) << PDR_QERS | (urrs.len() as u16) << PDR_URRS
            };
        kinds.put_short(pen, self.id.0);
        pen.u16(bits);
        if kinds.has(Kinds::WIDE) {
            pen.u32(self.precedence)
        } else {
            pen.u16(self.precedence as u16)
        }
        kinds.put_short(pen, self.instance.number());
        kinds.put_id(pen, self.far.0);
        if let Some(tunnel) = self.tunnel {
            tunnel.write(form, self.choose_id, pen);
        }
        if let Some(ue) = other_ue {
            pen.u8(ue.families.bits());
            pen.u8(ue.instance);
        }
        if self.filter != Filter::ALL {
            write_filter(pen, self.filter);
        }
        if self.qfis != 0 {
            pen.u64(self.qfis);
        }
        if !has_same {
            let lists = qers.iter().chain(urrs);
            lists.for_each(|id| kinds.put_id(pen, *id));
        }
    }

    /// Reads a rule; `before` is the one that was read last.
    pub fn read(form: &PdrForm<'_>, before: Option<&Self>, eye: &mut OctetReader<'_>) -> Self {
        let kinds = form.kinds;
        let id = PdrId(kinds.short(eye));
        let bits = eye.u16();
        let has = |bit| bits & bit != 0;
        let precedence = if kinds.has(Kinds::WIDE) {
            eye.u32()
        } else {
            eye.u16().into()
        };
        let instance = NameId::from_number(kinds.short(eye));
        let far = FarId(kinds.id(eye));
        let tunnel = has(PDR_TUNNEL).then(|| LocalTunnel::read(form, eye));
        let (tunnel, choose_id) = tunnel.unzip();
        let ue = if has(PDR_OWN_UE) {
            Some(UeMatch {
                families: Families::from_bits(eye.u8()),
                instance: eye.u8(),
            })
        } else {
            has(PDR_UE).then(|| form.ue.usual(tunnel.is_some()))
        };
        let filter = if has(PDR_FILTER) {
            read_filter(eye)
        } else {
            Filter::ALL
        };
        let qfis = if has(PDR_QFIS) { eye.u64() } else { 0 };
        let (qers, urrs) = match (bits >> PDR_QERS & 15, before) {
            (SAME_LISTS, before) => before.map(|p| (p.qers, p.urrs)).unwrap_or_default(),
            (qers, _) => (
                read_ids(kinds, eye, qers),
                read_ids(kinds, eye, bits >> PDR_URRS),
            ),
        };
        Self {
            id,
            precedence,
            source: Side::from_bits(bits),
            instance,
            tunnel,
            choose_id: choose_id.flatten(),
            ue,
            qfis,
            filter,
            removes_outer: has(PDR_REMOVES),
            far,
            qers,
            urrs,
        }
    }
}

fn read_ids<const N: usize>(kinds: Kinds, eye: &mut OctetReader<'_>, len: u16) -> IdList<N> {
    IdList::of_distinct(usize::from(len & 15), || kinds.id(eye))
}

impl LocalTunnel {
    /// TEID and number of the address stand in the endpoint.
    fn write(self, form: &PdrForm<'_>, choose_id: Option<u8>, pen: &mut OctetWriter<'_>) {
        let kinds = form.kinds;
        let LocalTunnel {
            teid,
            addresses,
            local,
        } = self;
        let key = Key::Tunnel { local, teid };
        let endpoint = form.endpoints.iter().position(|e| e.key == key);
        let chosen = choose_id.map_or(0, |_| TUNNEL_CHOSEN);
        match endpoint {
            Some(at) => pen.u8(at as u8 | chosen),
            None => {
                pen.u8(NO_ENDPOINT | chosen);
                pen.u8(local);
                pen.u32(teid);
            }
        }
        if kinds.has(Kinds::IPV6_TUNNELS) {
            let at = addresses
                .ipv6
                .and_then(|of| form.ipv6.iter().position(|a| *a == of));
            let at = at.map_or(0, |at| at as u8 + 1);
            pen.u8(bit8(TUNNEL_IPV4, addresses.ipv4.is_some()) | at << TUNNEL_IPV6);
        }
        if let Some(address) = addresses.ipv4
            && !kinds.has(Kinds::KNOWN_TUNNELS)
        {
            pen.u32(address.into());
        }
        if let Some(id) = choose_id {
            pen.u8(id);
        }
    }

    /// With the CHOOSE ID that it was given for.
    fn read(form: &PdrForm<'_>, eye: &mut OctetReader<'_>) -> (Self, Option<u8>) {
        let kinds = form.kinds;
        let first = eye.u8();
        let at = usize::from(first & !TUNNEL_CHOSEN);
        let (local, teid) = match form.endpoints.get(at).map(|e| e.key) {
            Some(Key::Tunnel { local, teid }) => (local, teid),
            _ => (eye.u8(), eye.u32()),
        };
        let families = if kinds.has(Kinds::IPV6_TUNNELS) {
            eye.u8()
        } else {
            TUNNEL_IPV4
        };
        let ipv6 = usize::from(families >> TUNNEL_IPV6).checked_sub(1);
        let tunnel = Self {
            teid,
            addresses: TunnelAddresses {
                ipv4: if families & TUNNEL_IPV4 == 0 {
                    None
                } else if kinds.has(Kinds::KNOWN_TUNNELS) {
                    form.ipv4.get(local)
                } else {
                    Some(eye.u32().into())
                },
                ipv6: ipv6.and_then(|at| form.ipv6.get(at).copied()),
            },
            local,
        };
        let choose_id = (first & TUNNEL_CHOSEN != 0).then(|| eye.u8());
        (tunnel, choose_id)
    }
}

/// Octets of a PDR without lists: PDR ID, bits, precedence, instance, FAR, tunnel, what is said of the UE, filter, QFIs.
pub const PDR_MIN: usize = 2 + 2 + 4 + 2 + 4 + 11 + 2 + FILTER_MAX + 8;
/// What an IPv6 address adds: which of the record's addresses it is.
pub const PDR_IPV6: usize = 1;
pub const PDR_MAX: usize = PDR_MIN + PDR_IPV6 + 4 * (QERS_PER_PDR + URRS_PER_PDR);
/// The number of IPv6 addresses of tunnels, and these.
pub const IPV6_TUNNELS_MAX: usize = 1 + 16 * TUNNEL_IPV6_ADDRESSES;
/// Families, a run, and a predefined rule or an application.
const FILTER_MAX: usize = 1 + 4 + 2;

/// In place of an endpoint's number: the tunnel is none of the session's endpoints.
const NO_ENDPOINT: u8 = 0x7f;
/// Bit of that number: a CHOOSE ID is the tunnel's last octet.
const TUNNEL_CHOSEN: u8 = 0x80;
const _: () = assert!(ENDPOINTS < NO_ENDPOINT as usize);

/// Bits of a PDR's word: two of the side, then these, then the lengths of its lists.
const PDR_FILTER: u16 = 1 << 2;
const PDR_REMOVES: u16 = 1 << 3;
const PDR_TUNNEL: u16 = 1 << 4;
const PDR_UE: u16 = 1 << 5;
/// Of a PDR that has one: it is not what most of the session have.
const PDR_OWN_UE: u16 = 1 << 6;
const PDR_QFIS: u16 = 1 << 7;
const PDR_QERS: u32 = 8;
const PDR_URRS: u32 = 12;
/// In place of the number of QERs: both lists are those of the PDR before it.
const SAME_LISTS: u16 = 15;
const _: () = assert!(QERS_PER_PDR < SAME_LISTS as usize && URRS_PER_PDR < 16);

/// Bits of a filter's octet, behind two of the families.
const FILTER_RUN: u8 = 1 << 2;
const FILTER_LINK: u8 = 1 << 3;
const FILTER_STANDS_BACK: u8 = 1 << 4;
const FILTER_PREDEFINED: u8 = 1 << 5;
const FILTER_APPLICATION: u8 = 1 << 6;

/// Bits of the octet before the address of a tunnel, where tunnels have some of IPv6: there is one of IPv4; above
/// it, which of the record's IPv6 addresses it has, counted from 1.
const TUNNEL_IPV4: u8 = 1;
const TUNNEL_IPV6: u32 = 1;

fn write_filter(pen: &mut OctetWriter<'_>, filter: Filter) {
    let Filter {
        families,
        run,
        is_link,
        origin,
    } = filter;
    let has_run = !run.is_none();
    let origin_bit = match origin {
        FilterOrigin::Pdi => 0,
        FilterOrigin::StandsBack => FILTER_STANDS_BACK,
        FilterOrigin::Predefined(_) => FILTER_PREDEFINED,
        FilterOrigin::Application(_) => FILTER_APPLICATION,
    };
    pen.u8(families.bits() | bit8(FILTER_RUN, has_run) | bit8(FILTER_LINK, is_link) | origin_bit);
    if has_run {
        pen.u32(run.first() << 6 | run.len() as u32);
    }
    if let FilterOrigin::Predefined(number) | FilterOrigin::Application(number) = origin {
        pen.u16(number);
    }
}

fn read_filter(eye: &mut OctetReader<'_>) -> Filter {
    let bits = eye.u8();
    let run = if bits & FILTER_RUN != 0 { eye.u32() } else { 0 };
    let run = FilterRun::new(run >> 6, (run & 63) as usize);
    let origin = match bits & (FILTER_PREDEFINED | FILTER_STANDS_BACK | FILTER_APPLICATION) {
        0 => FilterOrigin::Pdi,
        FILTER_STANDS_BACK => FilterOrigin::StandsBack,
        FILTER_APPLICATION => FilterOrigin::Application(eye.u16()),
        _ => FilterOrigin::Predefined(eye.u16()),
    };
    Filter {
        families: Families::from_bits(bits),
        run: run.unwrap_or(FilterRun::NONE),
        is_link: bits & FILTER_LINK != 0,
        origin,
    }
}
