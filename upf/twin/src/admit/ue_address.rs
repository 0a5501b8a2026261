//! Admission of UE addresses (TS 29.244, 8.2.62).

use super::{Draft, Refused, no_rule};
use crate::rules::Session;
use crate::ue_addresses::{UeAddresses, UePrefix};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::UeIpAddress;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The length of a UE's prefix (TS 23.501, 5.8.2.2).
const PREFIX_LEN: u8 = 64;

/// The addresses of a PDI: none, or one IE with either or both.
pub fn ue_addresses(
    draft: &Draft<'_, '_>,
    pdr: u16,
    ies: &[UeIpAddress],
) -> Result<UeAddresses, Refused> {
    let no = |why: &str| no_rule(IeType::UE_IP_ADDRESS, format!("PDR {pdr}: {why}"));
    let ue = match ies {
        [] => return Ok(UeAddresses::default()),
        [ue] => ue,
        _ => return no("several UE addresses"),
    };
    let given = &draft.rules.given;
    let lacks_ipv4 = ue.choose_ipv4 && given.ipv4.is_none();
    if lacks_ipv4 || ue.choose_ipv6 && given.prefix.is_none() {
        return no("an address to be chosen that the session was not given");
    }
    let tells = ue.ipv4.is_some() || ue.ipv6.is_some();
    if !(tells || ue.choose_ipv4 || ue.choose_ipv6) {
        return no("a UE address without an address");
    }
    let delegated = ue.ipv6_prefix_delegation_bits.unwrap_or(0);
    let len = ue
        .ipv6_prefix_length
        .unwrap_or(PREFIX_LEN - delegated.min(64));
    let is_served = match ue.choose_ipv6 {
        true => ue.ipv6_prefix_length == Some(0) || len == PREFIX_LEN,
        false => (1..=PREFIX_LEN).contains(&len) || ue.ipv6.is_none(),
    };
    if !is_served {
        return no("a prefix of another length");
    }
    if !ue.ipv4.is_none_or(is_host) || !ue.ipv6.is_none_or(is_host_prefix) {
        return no("no address of a host");
    }
    let chosen_ipv4 = given.ipv4.filter(|_| ue.choose_ipv4);
    let chosen_prefix = given.prefix.filter(|_| ue.choose_ipv6);
    Ok(UeAddresses {
        ipv4: ue.ipv4.or(chosen_ipv4),
        prefix: ue.ipv6.map(UePrefix::of).or(chosen_prefix),
    })
}

fn is_host(address: Ipv4Addr) -> bool {
    let is_special = address.is_unspecified() || address.is_broadcast() || address.is_loopback();
    !(is_special || address.is_multicast() || address.is_link_local())
}

/// The prefix 0 has the unspecified and the loopback address in it.
fn is_host_prefix(address: Ipv6Addr) -> bool {
    let has_special = UePrefix::of(address) == UePrefix::of(Ipv6Addr::UNSPECIFIED);
    !(has_special || address.is_multicast() || address.is_unicast_link_local())
}

/// All PDRs agree with what the session was told first.
pub fn check_ue(rules: &Session) -> Result<(), Refused> {
    let told = &rules.told;
    for (id, pdr) in &rules.pdrs {
        let other_ipv4 = pdr.ue.ipv4.is_some() && pdr.ue.ipv4 != told.ipv4;
        let other_prefix = pdr.ue.prefix.is_some() && pdr.ue.prefix != told.prefix;
        if other_ipv4 || other_prefix {
            let why = format!("PDR {id} has another UE address than its session");
            return no_rule(IeType::UE_IP_ADDRESS, why);
        }
    }
    Ok(())
}
