//! UE addresses that a new session begins with: told by the CP function, or chosen here (TS 29.244, 5.21).
//!
//! They are known before any rule is read, since they decide where the session lives.

use crate::admission::{Admission, side};
use crate::admit::each;
use crate::admit::pdr::ue::{addresses, asked_for, told_in};
use crate::names::plain;
use crate::network::{Network, Side};
use crate::node::Moment;
use crate::refusal::{self, Refusal, RuleId};
use crate::resources::{NoAddress, Resources};
use crate::rules::{Families, UeAddresses};
use arrayvec::ArrayVec;
use sluice_wire::limits::{NAMES_PER_POOL, PDRS_PER_MESSAGE};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::CreatePdr;
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::value::UeIpAddress;
use sluice_wire::pfcp::{Cause, IeType, Ies};

/// The addresses of the session that an establishment request asks for. What is chosen is not taken yet
/// ([`Admission::take_given`]).
///
/// # Errors
/// If an address is to be chosen and none can be: 79 where all are given out, 73 where there is no such pool.
pub fn of_new_session(
    resources: &Resources,
    at: Moment,
    body: &[u8],
    net: &impl Network,
) -> Result<UeAddresses, Refusal> {
    let told = first_told(body);
    if resources.addresses.is_empty() {
        return Ok(told);
    }
    let asked = asked_in(body, net)?;
    let families = asked.families.without(asked.told);
    let Some(first) = asked.first.filter(|_| !families.is_none()) else {
        return Ok(told);
    };
    let unknown = Refusal::rule(first, IeType::NETWORK_INSTANCE);
    let pool = asked.pool.ok_or(unknown)?;
    let of = (pool.instance, families);
    let chosen = resources.choose_addresses(of, &pool.identities, at.seconds());
    let chosen = chosen.map_err(|why| refused(pool.rule, why))?;
    Ok(UeAddresses {
        ipv4: told.ipv4.or(chosen.ipv4),
        prefix: told.prefix.or(chosen.prefix),
        given: chosen.given,
    })
}

/// The UE's IPv4 address in the first PDI that has one, with the first prefix up to there. Whether they can be
/// served is asked when their PDIs are read.
fn first_told(body: &[u8]) -> UeAddresses {
    let inside = |value, ie_type| {
        let ies = Ies::new(value).map_while(Result::ok);
        ies.filter(move |ie| ie.ie_type == ie_type)
            .map(|ie| ie.value)
    };
    let pdis = inside(body, IeType::CREATE_PDR).flat_map(|pdr| inside(pdr, IeType::PDI));
    let told = pdis.flat_map(|pdi| inside(pdi, IeType::UE_IP_ADDRESS));
    let told = told.filter_map(|value| addresses(&UeIpAddress::decode(value).ok()?));
    let mut first = UeAddresses::default();
    for UeAddresses { ipv4, prefix, .. } in told {
        first.prefix = first.prefix.or(prefix);
        if ipv4.is_some() {
            first.ipv4 = ipv4;
            break;
        }
    }
    first
}

/// What a request leaves to us.
#[derive(Default)]
struct Asked<'a> {
    families: Families,
    /// What it tells itself.
    told: Families,
    /// The first PDR that asks.
    first: Option<RuleId>,
    /// The pool that the first PDI of a data network means, else the first PDI that names one.
    pool: Option<AskedPool<'a>>,
}

struct AskedPool<'a> {
    rule: RuleId,
    instance: u8,
    is_of_network: bool,
    identities: ArrayVec<&'a [u8], NAMES_PER_POOL>,
}

fn asked_in<'a>(body: &'a [u8], net: &impl Network) -> Result<Asked<'a>, Refusal> {
    let mut asked = Asked::default();
    let pdrs = |ie: &CreatePdr<'a>| {
        let told = ie.pdi.ue_ip_address.iter().map(told_in);
        asked.told = told.fold(asked.told, Families::or);
        let families = ie.pdi.ue_ip_address.iter().map(asked_for);
        let families = families.fold(Families::NONE, Families::or);
        if families.is_none() {
            return Ok(());
        }
        asked.families = asked.families.or(families);
        asked.first = asked.first.or(Some(refusal::pdr(ie.pdr_id)));
        let found = asked_pool(ie, net);
        let before = asked.pool.as_ref();
        let is_better = |new: &AskedPool<'_>| {
            before.is_none_or(|pool| new.is_of_network && !pool.is_of_network)
        };
        if let Some(found) = found.filter(is_better) {
            asked.pool = Some(found);
        }
        Ok(())
    };
    each(&Body::new(body), IeType::CREATE_PDR, PDRS_PER_MESSAGE, pdrs)?;
    Ok(asked)
}

/// The network instance of a PDI as that of a data network: an SMF may name it on the access side as well.
fn asked_pool<'a>(ie: &CreatePdr<'a>, net: &impl Network) -> Option<AskedPool<'a>> {
    let source = side(ie.pdi.source_interface.0)?;
    let is_of_network = matches!(source, Side::Core | Side::SgiLan);
    let name = ie.pdi.network_instance.map(plain);
    let name = match &name {
        Some(None) => return None,
        Some(Some(name)) => Some(name.as_str()),
        None => None,
    };
    let side = if is_of_network { source } else { Side::Core };
    let instance = side.plain().find_map(|side| net.ue_instance(side, name))?;
    Some(AskedPool {
        rule: refusal::pdr(ie.pdr_id),
        instance: instance.0,
        is_of_network,
        identities: ie.ue_ip_address_pool_identity.iter().map(|i| i.0).collect(),
    })
}

fn refused(rule: RuleId, why: NoAddress) -> Refusal {
    let address = Refusal::rule(rule, IeType::UE_IP_ADDRESS);
    match why {
        NoAddress::NoPool => address,
        NoAddress::UnknownIdentity => Refusal::rule(rule, IeType::UE_IP_ADDRESS_POOL_IDENTITY),
        NoAddress::Occupied => address.with(Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED),
        NoAddress::NoTeid => Refusal::full(Some(rule), Some(IeType::UE_IP_ADDRESS)),
    }
}

impl<N: Network> Admission<'_, N> {
    /// What was chosen for a new session is its own from now on.
    pub fn take_given(&mut self) -> Result<(), Refusal> {
        let taken = self.resources.give_addresses(&self.draft.ue, self.claims);
        taken.map_err(|_| Refusal::full(None, Some(IeType::UE_IP_ADDRESS)))
    }
}
