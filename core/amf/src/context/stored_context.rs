//! A registered UE as it is stored, so that a later process can go on with it: names, keys and counts,
//! what it registered for, its sessions, and the gNB that has its context.

use sluice_ids::{NrCellIdentity, Plmn, Tai};
use sluice_n1::{SecurityContext, Side};
use sluice_n2::{Gnb, Location, PagingCapability, RadioCapability, RanUeId};
use sluice_sbi::context_store::{Reader, Writer};
use sluice_security::{
    Ciphering, Integrity, Kamf, Kgnb, NasCount, NasKeys, NextHopChain, SecurityCapability,
};

use crate::config::News;
use crate::context::ue::{ConnectionId, Registered, Security, SmContext, Ue};
use crate::limits::COUNTS_AHEAD;

/// Version of the form.
const VERSION: u8 = 3;

/// Stored place of a connected UE: the gNB by its identity, since associations end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct At {
    pub gnb: Gnb,
    pub connection: ConnectionId,
    pub ran: RanUeId,
    pub location: Location,
}

/// The context of a UE; none if it is not registered, or its keys are used up.
pub(crate) fn of(ue: &mut Ue, at: Option<At>) -> Option<Vec<u8>> {
    let registered = ue.registered.as_ref()?;
    let security = ue.security.as_mut()?;
    let mut w = Writer::new(VERSION);
    w.flat(&ue.supi?);
    w.flat(&ue.guti?);
    w.option(ue.old_guti, |w, guti| w.flat(&guti));
    w.octets(ue.capability.as_ref()?.octets());
    write_security(&mut w, security)?;
    w.list(registered.allowed_nssai.iter(), |w, slice| w.flat(slice));
    w.u64(registered.ambr_bps.0);
    w.u64(registered.ambr_bps.1);
    w.option(ue.imeisv, |w, imeisv| w.flat(&imeisv));
    w.option(ue.drx, Writer::u8);
    w.bool(ue.news.names);
    w.bool(ue.news.registration);
    // One that has no SMF yet is asked for again.
    let sessions = ue.sessions.iter();
    let sessions: Vec<_> = sessions
        .filter_map(|(session, one)| Some((session, one, one.context?)))
        .collect();
    w.list(sessions.into_iter(), |w, (session, one, context)| {
        w.u8(*session);
        w.flat(&one.slice);
        w.flat(&one.dnn);
        w.u64(context);
        w.bool(one.is_up);
    });
    w.option(at, write_at);
    Some(w.finish())
}

/// Keys and counts. Downlink counts are reserved ahead, so that what is stored changes seldom.
fn write_security(w: &mut Writer, security: &mut Security) -> Option<()> {
    let (ciphering, integrity) = security.context.algorithms();
    let next = security.context.next_sent()?.get();
    if next > security.reserved {
        security.reserved = (next + COUNTS_AHEAD).min(NasCount::MAX.get());
    }
    w.u8(security.context.ngksi());
    w.u8((ciphering as u8) << 4 | integrity as u8);
    w.flat(security.kamf.octets());
    w.u32(security.context.next_received()?.get());
    w.u32(security.reserved);
    // A later process does not know what the gNB has answered, and tells it anew.
    let chain = security.chain.as_ref().filter(|_| !security.is_renewing);
    w.option(chain, |w, chain| {
        w.u8(chain.stored());
        w.flat(chain.last().key.octets());
    });
    Some(())
}

fn write_at(w: &mut Writer, at: At) {
    w.flat(&at.gnb.plmn);
    w.u32(at.gnb.id);
    w.u8(at.gnb.bits);
    w.key(at.connection.0);
    w.u32(at.ran.0);
    w.flat(&at.location.plmn);
    w.flat(&at.location.cell);
    w.flat(&at.location.tai);
}

/// A UE and where it was connected, from what was stored; none if that makes no sense.
pub(crate) fn read(octets: &[u8]) -> Option<(Ue, Option<At>)> {
    let r = &mut Reader::new(VERSION, octets)?;
    let mut ue = Ue {
        supi: Some(r.flat()?),
        guti: Some(r.flat()?),
        old_guti: r.option(Reader::flat)?,
        capability: Some(SecurityCapability::from_octets(r.octets()?)?),
        security: Some(read_security(r)?),
        registered: Some(Registered {
            allowed_nssai: r.list(Reader::flat)?,
            ambr_bps: (r.u64()?, r.u64()?),
        }),
        imeisv: r.option(Reader::flat)?,
        drx: r.option(Reader::u8)?,
        news: News {
            names: r.bool()?,
            registration: r.bool()?,
        },
        ..Ue::default()
    };
    let sessions = r.list(|r| {
        let session = r.u8().filter(|session| (1..16).contains(session))?;
        let context = SmContext {
            slice: r.flat()?,
            dnn: r.flat()?,
            context: Some(r.u64()?),
            is_up: r.bool()?,
            is_asked: false,
            task: None,
        };
        Some((session, context))
    })?;
    ue.sessions = sessions.into_iter().collect();
    let at = r.option(read_at)?;
    r.end()?;
    Some((ue, at))
}

fn read_security(r: &mut Reader<'_>) -> Option<Security> {
    let (ngksi, algorithms) = (r.u8()?, r.u8()?);
    let kamf = Kamf::new(r.flat()?);
    let (receive, reserved) = (r.u32()?, r.u32()?);
    let next_hop = |r: &mut Reader<'_>| {
        let stored = r.u8()?;
        NextHopChain::resumed(stored, Kgnb::new(r.flat()?))
    };
    let chain = r.option(next_hop)?;
    let ciphering = Ciphering::from_number(algorithms >> 4)?;
    let integrity = Integrity::from_number(algorithms & 15)?;
    let keys = NasKeys::new(&kamf, ciphering, integrity);
    let (send, receive) = (NasCount::new(reserved)?, NasCount::new(receive)?);
    let context = SecurityContext::resumed(Side::Network, ngksi, keys, Some(send), Some(receive));
    // Keys that no gNB has taken are those of the last Security Mode Complete, their first message.
    let last_uplink = match &chain {
        Some(_) => NasCount::new(receive.get().saturating_sub(1))?,
        None => NasCount::default(),
    };
    Some(Security {
        context,
        kamf,
        last_uplink,
        chain,
        is_renewing: false,
        reserved,
    })
}

fn read_at(r: &mut Reader<'_>) -> Option<At> {
    let gnb = Gnb {
        plmn: r.flat::<Plmn>()?,
        id: r.u32()?,
        bits: r.u8().filter(|bits| (22..=32).contains(bits))?,
    };
    Some(At {
        gnb,
        connection: ConnectionId(r.key()?),
        ran: RanUeId(r.u32()?),
        location: Location {
            plmn: r.flat::<Plmn>()?,
            cell: r.flat::<NrCellIdentity>()?,
            tai: r.flat::<Tai>()?,
        },
    })
}

/// Radio capabilities from the gNB; they are long and change seldom, so they are a record of their own.
pub(crate) fn of_radio(ue: &Ue) -> Option<Vec<u8>> {
    let mut w = Writer::new(VERSION);
    w.octets(ue.radio_capability.as_ref()?);
    w.option(ue.paging_capability.as_ref(), |w, paging| {
        w.option(paging.nr.as_ref(), |w, nr| w.octets(nr));
        w.option(paging.eutra.as_ref(), |w, eutra| w.octets(eutra));
    });
    Some(w.finish())
}

/// The same from what was stored.
pub(crate) fn read_radio(octets: &[u8]) -> Option<(RadioCapability, Option<PagingCapability>)> {
    let mut r = Reader::new(VERSION, octets)?;
    let capability = r.octets()?.to_vec();
    let text = |r: &mut Reader<'_>| r.octets().map(<[u8]>::to_vec);
    let paging = r.option(|r| {
        Some(PagingCapability {
            nr: r.option(text)?,
            eutra: r.option(text)?,
        })
    })?;
    r.end()?;
    Some((capability, paging))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::{AmfId, Dnn, Guami, Guti, Snssai, Supi, Tac, Tmsi};
    use sluice_n1::{Envelope, Header};
    use sluice_sbi::Key;

    fn session() -> SmContext {
        SmContext {
            slice: Snssai::new(1, Some([1, 2, 3])),
            dnn: Dnn::new("internet").expect("a name"),
            context: Some(77),
            is_up: true,
            is_asked: false,
            task: None,
        }
    }

    fn ue() -> (Ue, At) {
        let plmn = Plmn::new("001", "01").expect("digits");
        let kamf = Kamf::new([7; 32]);
        let keys = NasKeys::new(&kamf, Ciphering::Nea2, Integrity::Nia1);
        let context = SecurityContext::new(Side::Network, 3, keys);
        let key = Kgnb::new([9; 32]);
        let guami = Guami {
            plmn,
            amf: AmfId::new(1, 1, 1).expect("small"),
        };
        let guti = |octet| Guti {
            guami,
            tmsi: Tmsi([octet; 4]),
        };
        let ue = Ue {
            supi: Supi::from_msin(plmn, "0000000001"),
            guti: Some(guti(1)),
            old_guti: Some(guti(2)),
            capability: SecurityCapability::from_octets(&[0xf0, 0x70]),
            security: Some(Security {
                context,
                kamf,
                last_uplink: NasCount::default(),
                chain: NextHopChain::resumed(4, key),
                is_renewing: false,
                reserved: 0,
            }),
            registered: Some(Registered {
                allowed_nssai: vec![Snssai::new(1, None), Snssai::new(2, None)],
                ambr_bps: (5, 6),
            }),
            drx: Some(2),
            news: News {
                names: false,
                registration: true,
            },
            sessions: [(5, session())].into(),
            radio_capability: Some(vec![1, 2, 3]),
            paging_capability: Some(PagingCapability {
                nr: Some(vec![4]),
                eutra: None,
            }),
            ..Ue::default()
        };
        let tai = Tai {
            plmn,
            tac: Tac([0, 0, 1]),
        };
        let at = At {
            gnb: Gnb {
                plmn,
                id: 1,
                bits: 24,
            },
            connection: ConnectionId(Key {
                slot: 3,
                generation: 4,
            }),
            ran: RanUeId(5),
            location: Location {
                plmn,
                cell: NrCellIdentity([0, 0, 0, 0, 1]),
                tai,
            },
        };
        (ue, at)
    }

    #[test]
    fn a_context_is_read_as_it_was_written_and_nothing_that_is_cut() {
        let (mut ue, at) = ue();
        let octets = of(&mut ue, Some(at)).expect("registered");
        let (mut read_ue, read_at) = read(&octets).expect("whole");
        assert_eq!(read_at, Some(at));
        assert_eq!(read_ue.news, ue.news);
        assert_eq!(of(&mut read_ue, Some(at)), Some(octets.clone()));
        assert_eq!(
            format!("{:?}", read_ue.sessions),
            format!("{:?}", ue.sessions)
        );
        for length in 0..octets.len() {
            assert!(read(&octets[..length]).is_none(), "{length} octets");
        }
        let radio = of_radio(&ue).expect("a capability");
        let expected = (vec![1, 2, 3], ue.paging_capability.clone());
        assert_eq!(read_radio(&radio), Some(expected));
        for length in 0..radio.len() {
            assert_eq!(read_radio(&radio[..length]), None, "{length} octets");
        }
    }

    #[test]
    fn what_was_changed_is_read_or_not_but_breaks_nothing() {
        let (mut ue, at) = ue();
        let octets = of(&mut ue, Some(at)).expect("registered");
        for place in 0..octets.len() {
            for bit in 0..8 {
                let mut changed = octets.clone();
                changed[place] ^= 1 << bit;
                if let Some((mut ue, at)) = read(&changed) {
                    of(&mut ue, at);
                }
            }
        }
    }

    #[test]
    fn downlink_counts_are_reserved_ahead_and_none_is_used_twice() {
        let (mut ue, _) = ue();
        let (mut stores, mut stored) = (0, of(&mut ue, None).expect("registered"));
        for sent in 0..200 {
            let security = ue.security.as_mut().expect("keys");
            let message = security.context.protect(Header::Ciphered, &[0x7e, 0, 0x43]);
            assert!(message.is_some());
            let now = of(&mut ue, None).expect("registered");
            stores += u32::from(now != stored);
            stored = now;
            let (later, _) = read(&stored).expect("whole");
            let next = later.security.and_then(|one| one.context.next_sent());
            assert!(next.is_some_and(|next| next.get() > sent), "message {sent}");
        }
        assert!((200 / COUNTS_AHEAD - 1..=200 / COUNTS_AHEAD + 1).contains(&stores));
    }

    #[test]
    fn an_uplink_message_of_before_is_not_taken_again() {
        let (mut network, _) = ue();
        let kamf = Kamf::new([7; 32]);
        let keys = NasKeys::new(&kamf, Ciphering::Nea2, Integrity::Nia1);
        let mut ue = SecurityContext::new(Side::Ue, 3, keys);
        let verifies = |network: &mut Ue, octets: &[u8]| {
            let Some(Envelope::Protected(message)) = Envelope::open(octets) else {
                panic!("a protected message");
            };
            let security = network.security.as_mut().expect("keys");
            security.context.verify(&message).is_some()
        };
        let mut message = || {
            ue.protect(Header::Integrity, &[0x7e, 0, 0x43])
                .expect("a count")
        };
        let (first, second) = (message(), message());
        assert!(verifies(&mut network, &first));
        let stored = of(&mut network, None).expect("registered");
        let (mut later, _) = read(&stored).expect("whole");
        assert!(!verifies(&mut later, &first));
        assert!(verifies(&mut later, &second));
        assert_eq!(later.security.map(|one| one.last_uplink.get()), Some(0));
    }
}
