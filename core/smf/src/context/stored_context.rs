//! A session as it is stored, so that a later process can go on with it: where it is at its UPF, its
//! flows with their rules, and what it has used.

use core::net::SocketAddr;

use sluice_ids::{UpProtection, UpSecurity};
use sluice_n1::{IntegrityRate, IntegrityRates, PduAddress, SessionType};
use sluice_n2::{SecurityResult, Tunnel};
use sluice_n4::AssociationId;
use sluice_sbi::PccRule;
use sluice_sbi::context_store::{Reader, Writer};
use sluice_wire::ids::Seid;

use crate::context::flows::{Bound, Flows};
use crate::context::session::{AtUpf, Loss, Qos, Session, Usage};
use crate::leases::lease::Lease;
use crate::procedure::unheard::Unheard;
use crate::procedure::user_plane::security::Security;

/// Version of the form.
const VERSION: u8 = 4;

/// Stored state of a session.
#[derive(Debug)]
pub(crate) struct Kept {
    /// All but where it is.
    pub session: Session,
    /// The UPF, by its address in the configuration.
    pub upf: SocketAddr,
    /// None of one that its UPF was asked for and has not answered.
    pub at: Option<At>,
    /// A procedure may have been under way: what the UPF was told last is not known.
    pub is_unsettled: bool,
    /// Whether packets wait for the UE, or are dropped.
    pub has_packets: bool,
    /// The UPF forwards packets from one gNB to the next.
    pub forwards: bool,
}

/// A session at its UPF, without the association, which ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    to: Option<SocketAddr>,
    seid: Seid,
    uplink: Tunnel,
    ipv6_prefix: Option<[u8; 8]>,
}

impl At {
    /// Of a session, without its association.
    pub fn of(upf: AtUpf) -> Self {
        Self {
            to: upf.to,
            seid: upf.seid,
            uplink: upf.uplink,
            ipv6_prefix: upf.ipv6_prefix,
        }
    }

    /// The same in an association.
    pub fn within(self, association: AssociationId) -> AtUpf {
        let Self {
            to,
            seid,
            uplink,
            ipv6_prefix,
        } = self;
        AtUpf {
            association,
            to,
            seid,
            uplink,
            ipv6_prefix,
        }
    }
}

/// The context of a session at the UPF of this address; one that the UPF has not is asked for.
pub(crate) fn of(session: &Session, upf: SocketAddr) -> Vec<u8> {
    write(session, upf, session.may_differ_at_upf())
}

/// The same of one that its UPF may have otherwise.
pub(crate) fn of_unsettled(session: &Session, upf: SocketAddr) -> Vec<u8> {
    write(session, upf, true)
}

fn write(session: &Session, upf: SocketAddr, is_unsettled: bool) -> Vec<u8> {
    let mut w = Writer::new(VERSION);
    w.flat(&session.supi);
    w.u8(session.identity);
    w.u8(session.transaction);
    w.flat(&session.slice);
    w.flat(&session.dnn);
    w.u8(session.session_type as u8);
    w.u64(session.qos.ambr_bps.0);
    w.u64(session.qos.ambr_bps.1);
    w.u8(session.qos.five_qi);
    w.u8(session.qos.priority);
    write_security(&mut w, &session.security);
    w.option(session.address.ipv4, Writer::ipv4);
    w.option(session.address.interface_identifier, |w, id| w.flat(&id));
    write_lease(&mut w, &session.lease);
    w.bool(session.is_accepted);
    w.socket(upf);
    w.option(session.upf.map(At::of), write_at);
    w.option(session.downlink, write_tunnel);
    write_usage(&mut w, session.usage);
    w.u64(session.begun_unix_s);
    w.u8(session.loss as u8);
    w.bool(is_unsettled);
    w.bool(session.has_packets || session.reaching.is_some());
    w.bool(session.mobility.forwards);
    w.octets(&session.mobility.forwarded);
    write_flows(&mut w, &session.flows);
    w.finish()
}

fn write_security(w: &mut Writer, security: &Security) {
    w.option(security.policy, |w, policy| {
        w.u8(policy.integrity as u8);
        w.u8(policy.confidentiality as u8);
    });
    w.u8(security.rates.up as u8);
    w.u8(security.rates.down as u8);
    w.option(security.result, |w, result| {
        w.bool(result.integrity);
        w.bool(result.confidentiality);
    });
}

fn write_at(w: &mut Writer, at: At) {
    w.option(at.to, Writer::socket);
    w.u64(at.seid.0);
    write_tunnel(w, at.uplink);
    w.option(at.ipv6_prefix, |w, prefix| w.flat(&prefix));
}

fn write_lease(w: &mut Writer, lease: &Lease) {
    w.option(lease.upf, Writer::socket);
    w.option(lease.ipv4, Writer::ipv4);
    w.option(lease.ipv6_prefix, |w, prefix| w.flat(&prefix));
    w.option(lease.tunnel, write_tunnel);
    w.option(lease.forwarding, write_tunnel);
}

/// A session that the UPF of this address is to delete, and that nobody knows any more, with its lease.
pub(crate) fn of_orphan(at: At, lease: &Lease, upf: SocketAddr) -> Vec<u8> {
    let mut w = Writer::new(VERSION);
    w.socket(upf);
    write_at(&mut w, at);
    write_lease(&mut w, lease);
    w.finish()
}

/// The same from what was stored.
pub(crate) fn read_orphan(octets: &[u8]) -> Option<(SocketAddr, At, Lease)> {
    let r = &mut Reader::new(VERSION, octets)?;
    let orphan = (r.socket()?, read_at(r)?, read_lease(r)?);
    r.end().map(|()| orphan)
}

fn write_tunnel(w: &mut Writer, tunnel: Tunnel) {
    w.option(tunnel.ipv4, Writer::ipv4);
    w.option(tunnel.ipv6, Writer::ipv6);
    w.u32(tunnel.teid);
}

fn write_usage(w: &mut Writer, usage: Usage) {
    w.u64(usage.uplink_octets);
    w.u64(usage.downlink_octets);
}

fn write_flows(w: &mut Writer, flows: &Flows) {
    w.option(flows.policy, Writer::u64);
    w.list(flows.rules.iter(), |w, rule| {
        w.flat(&rule.pcc);
        w.u8(rule.qfi);
        w.bool(rule.is_told);
        w.bool(rule.has_downlink);
        w.bool(rule.is_at_upf);
    });
    w.list(flows.wanted.iter(), |w, rule| w.flat(rule));
    w.option(flows.wanted_ambr, |w, (down, up)| {
        w.u64(down);
        w.u64(up);
    });
    w.u64(flows.at_gnb);
    w.u64(flows.guaranteed_bps.0);
    w.u64(flows.guaranteed_bps.1);
    w.bool(flows.is_stale);
    w.bool(flows.is_called);
    w.bool(flows.is_out_of_reach);
    w.list(flows.groups.iter(), |w, (group, usage)| {
        w.u32(*group);
        write_usage(w, *usage);
    });
    w.u8(flows.failures);
    w.u32(flows.unheard.rules);
    w.u64(flows.unheard.flows);
    w.bool(flows.unheard.ambr);
}

/// A session from what was stored; none if that makes no sense.
pub(crate) fn read(octets: &[u8]) -> Option<Kept> {
    let r = &mut Reader::new(VERSION, octets)?;
    let (supi, identity, transaction) = (r.flat()?, r.u8()?, r.u8()?);
    let mut session = Session::new(supi, identity, r.flat()?, r.flat()?);
    session.transaction = transaction;
    session.session_type = SessionType::from_number(r.u8()?);
    session.qos = Qos {
        ambr_bps: (r.u64()?, r.u64()?),
        five_qi: r.u8()?,
        priority: r.u8()?,
    };
    session.security = read_security(r)?;
    session.address = PduAddress {
        ipv4: r.option(Reader::ipv4)?,
        interface_identifier: r.option(Reader::flat)?,
    };
    session.lease = read_lease(r)?;
    session.is_accepted = r.bool()?;
    let upf = r.socket()?;
    let at = r.option(read_at)?;
    session.downlink = r.option(read_tunnel)?;
    session.usage = read_usage(r)?;
    session.begun_unix_s = r.u64()?;
    session.loss = match r.u8()? {
        0 => Loss::None,
        1 => Loss::Restarted,
        2 => Loss::Gone,
        _ => return None,
    };
    let (is_unsettled, has_packets) = (r.bool()?, r.bool()?);
    let forwards = r.bool()?;
    session.mobility.forwarded = r.octets()?.to_vec();
    session.flows = read_flows(r)?;
    r.end()?;
    Some(Kept {
        session,
        upf,
        at,
        is_unsettled,
        has_packets,
        forwards,
    })
}

fn read_security(r: &mut Reader<'_>) -> Option<Security> {
    let protection = |r: &mut Reader<'_>| r.u8().and_then(UpProtection::from_octet);
    Some(Security {
        policy: r.option(|r| {
            Some(UpSecurity {
                integrity: protection(r)?,
                confidentiality: protection(r)?,
            })
        })?,
        rates: IntegrityRates {
            up: IntegrityRate::from_octet(r.u8()?),
            down: IntegrityRate::from_octet(r.u8()?),
        },
        result: r.option(|r| {
            Some(SecurityResult {
                integrity: r.bool()?,
                confidentiality: r.bool()?,
            })
        })?,
    })
}

fn read_at(r: &mut Reader<'_>) -> Option<At> {
    Some(At {
        to: r.option(Reader::socket)?,
        seid: Seid(r.u64()?),
        uplink: read_tunnel(r)?,
        ipv6_prefix: r.option(Reader::flat)?,
    })
}

fn read_lease(r: &mut Reader<'_>) -> Option<Lease> {
    Some(Lease {
        upf: r.option(Reader::socket)?,
        ipv4: r.option(Reader::ipv4)?,
        ipv6_prefix: r.option(Reader::flat)?,
        tunnel: r.option(read_tunnel)?,
        forwarding: r.option(read_tunnel)?,
    })
}

fn read_tunnel(r: &mut Reader<'_>) -> Option<Tunnel> {
    Some(Tunnel {
        ipv4: r.option(Reader::ipv4)?,
        ipv6: r.option(Reader::ipv6)?,
        teid: r.u32()?,
    })
}

fn read_usage(r: &mut Reader<'_>) -> Option<Usage> {
    Some(Usage {
        uplink_octets: r.u64()?,
        downlink_octets: r.u64()?,
    })
}

fn read_rule(r: &mut Reader<'_>) -> Option<PccRule> {
    r.flat().filter(|rule: &PccRule| (1..16).contains(&rule.id))
}

fn read_flows(r: &mut Reader<'_>) -> Option<Flows> {
    Some(Flows {
        policy: r.option(Reader::u64)?,
        rules: r.list(|r| {
            Some(Bound {
                pcc: read_rule(r)?,
                qfi: r.u8().filter(|qfi| (1..64).contains(qfi))?,
                is_told: r.bool()?,
                has_downlink: r.bool()?,
                is_at_upf: r.bool()?,
            })
        })?,
        wanted: r.list(read_rule)?,
        wanted_ambr: r.option(|r| Some((r.u64()?, r.u64()?)))?,
        at_gnb: r.u64()?,
        guaranteed_bps: (r.u64()?, r.u64()?),
        is_stale: r.bool()?,
        is_called: r.bool()?,
        is_out_of_reach: r.bool()?,
        groups: r.list(|r| Some((r.u32()?, read_usage(r)?)))?,
        failures: r.u8()?,
        unheard: Unheard {
            rules: r.u32()?,
            flows: r.u64()?,
            ambr: r.bool()?,
        },
        place: None,
        command: None,
        postponed: None,
        in_doubt: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::{Dnn, Plmn, Snssai, Supi};
    use sluice_sbi::{Filter, FlowDirection, RuleName};

    const UPF: &str = "127.0.0.8:8805";

    fn session() -> Session {
        let plmn = Plmn::new("001", "01").expect("digits");
        let supi = Supi::from_msin(plmn, "0000000001").expect("digits");
        let dnn = Dnn::new("internet").expect("a name");
        let mut session = Session::new(supi, 5, Snssai::new(1, None), dnn);
        let tunnel = |teid| Tunnel {
            ipv4: Some([10, 0, 0, 1].into()),
            ipv6: None,
            teid,
        };
        let name = RuleName::new("voice").expect("a name");
        let filter = Filter::all(FlowDirection::Both);
        let rule = PccRule::new(name, 10, 1, &[filter]).expect("one filter");
        let pcc = PccRule { id: 3, ..rule };
        session.flows.policy = Some(9);
        session.flows.rules = vec![Bound {
            pcc,
            qfi: 2,
            is_told: true,
            has_downlink: false,
            is_at_upf: true,
        }];
        session.flows.wanted = vec![pcc];
        session.flows.groups = vec![(7, Usage::default())];
        session.flows.unheard = Unheard {
            rules: 1 << 5,
            flows: 1 << 3,
            ambr: true,
        };
        session.address.ipv4 = Some([10, 45, 0, 2].into());
        session.lease = lease();
        session.downlink = Some(tunnel(2));
        session.security = Security {
            policy: Some(UpSecurity {
                integrity: UpProtection::Required,
                confidentiality: UpProtection::Preferred,
            }),
            rates: IntegrityRates {
                up: IntegrityRate::Null,
                down: IntegrityRate::Kbps64,
            },
            result: Some(SecurityResult {
                integrity: true,
                confidentiality: false,
            }),
        };
        session.begun_unix_s = 1_790_000_000;
        session
    }

    fn lease() -> Lease {
        Lease {
            upf: UPF.parse().ok(),
            ipv4: Some([10, 45, 0, 2].into()),
            ipv6_prefix: Some([2; 8]),
            tunnel: Some(Tunnel {
                ipv4: None,
                ipv6: "2001:db8::1".parse().ok(),
                teid: 9,
            }),
            forwarding: None,
        }
    }

    fn written() -> Vec<u8> {
        of(&session(), UPF.parse().expect("an address"))
    }

    #[test]
    fn a_session_is_read_as_it_was_written_and_nothing_that_is_cut() {
        let octets = written();
        let kept = read(&octets).expect("whole");
        assert_eq!(format!("{:?}", kept.session), format!("{:?}", session()));
        assert_eq!(kept.upf.to_string(), UPF);
        assert!(kept.at.is_none(), "the UPF has not answered");
        for length in 0..octets.len() {
            assert!(read(&octets[..length]).is_none(), "{length} octets");
        }
    }

    #[test]
    fn a_session_that_is_to_be_deleted_is_read_as_it_was_written() {
        let at = At {
            to: Some("[2001:db8::8]:8805".parse().expect("an address")),
            seid: Seid(7),
            uplink: session().downlink.expect("a tunnel"),
            ipv6_prefix: Some([1; 8]),
        };
        let octets = of_orphan(at, &lease(), UPF.parse().expect("an address"));
        let (upf, read, leased) = read_orphan(&octets).expect("whole");
        assert_eq!((upf.to_string().as_str(), leased), (UPF, lease()));
        assert_eq!(format!("{read:?}"), format!("{at:?}"));
        for length in 0..octets.len() {
            assert!(read_orphan(&octets[..length]).is_none(), "{length} octets");
        }
    }

    #[test]
    fn what_was_changed_is_read_or_not_but_breaks_nothing() {
        let octets = written();
        for place in 0..octets.len() {
            for bit in 0..8 {
                let mut changed = octets.clone();
                changed[place] ^= 1 << bit;
                if let Some(kept) = read(&changed) {
                    of(&kept.session, kept.upf);
                    kept.session.flows.told();
                    kept.session.flows.at_setup(&kept.session.qos);
                }
            }
        }
    }
}
