//! Contexts of a UE and of its connection.

use std::collections::{BTreeMap, VecDeque};

use sluice_ids::{Dnn, Guti, Imeisv, Snssai, Supi};
use sluice_n1::{RegistrationRequest, SecurityContext};
use sluice_n2::{Location, PagingCapability, RadioCapability, RanUeId, Rfsp};
use sluice_sbi::{AssociationId, Instant, Key, RequestId, TaskId, UeState};
use sluice_security::{
    Kamf, Kgnb, NasCount, NextHop, NextHopChain, SecurityCapability, access_key,
};

use crate::config::News;
use crate::context::handover_state::{Handover, Held, Indication};
use crate::context::stored_context::At;
use crate::limits;
use crate::overload::admission_limits::Origin;

/// A UE that is known, or about to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct UeId(pub Key);

impl UeId {
    /// One number, for operators.
    pub fn number(self) -> u64 {
        u64::from(self.0.generation) << 32 | u64::from(self.0.slot)
    }
}

/// A UE's connection; its AMF UE NGAP ID is made of this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ConnectionId(pub Key);

/// Bits of an AMF UE NGAP ID for the number of the connection and 1; 16 above it are its generation.
const SLOT_BITS: u32 = 24;
const _: () = assert!(limits::CONNECTIONS < 1 << SLOT_BITS);

impl ConnectionId {
    /// As the gNB is told. Never 0: TS 38.413, 9.3.3.1, has it, but there are gNBs that take it for none.
    pub fn to_ngap(self) -> sluice_n2::AmfUeId {
        let Key { slot, generation } = self.0;
        sluice_n2::AmfUeId(u64::from(generation) << SLOT_BITS | (u64::from(slot) + 1))
    }

    /// As the gNB says. No connection has the slot before the first.
    pub fn from_ngap(id: sluice_n2::AmfUeId) -> Self {
        let number = (id.0 & ((1 << SLOT_BITS) - 1)) as u32;
        Self(Key {
            slot: number.wrapping_sub(1),
            generation: (id.0 >> SLOT_BITS) as u16,
        })
    }
}

/// Keys and counts.
#[derive(Debug)]
pub(crate) struct Security {
    /// Of NAS.
    pub context: SecurityContext,
    /// KAMF, from which the other keys are derived.
    pub kamf: Kamf,
    /// Count of the last initial message, or of the Security Mode Complete since then: KgNB is derived from it (TS
    /// 33.501, 6.8.1.1.2.2, 6.8.1.2.2 and A.9).
    pub last_uplink: NasCount,
    /// Next hops of these keys, once a gNB was told one that follows from them.
    pub chain: Option<NextHopChain>,
    /// The gNB was told that one instead of what it used before, and has not answered.
    pub is_renewing: bool,
    /// The first downlink count that is certainly not used before more are stored.
    pub reserved: u32,
}

impl Security {
    /// The key that a gNB gets that has none of these keys.
    pub fn first_key(&self) -> Kgnb {
        access_key(&self.kamf, self.last_uplink)
    }

    /// A gNB has the first key.
    pub fn begin_chain(&mut self) {
        self.chain = Some(NextHopChain::new(&self.kamf, &self.first_key()));
        self.is_renewing = false;
    }

    /// The next hops of the keys that the gNB uses; none if it is not known to use one that follows from these keys.
    /// Then it is told the first one, as one of a new security context (NSCI), which is right whether it has taken that
    /// or not (TS 33.501, 6.9.2.3.2 and 6.9.2.3.3).
    pub fn chain_at_gnb(&mut self) -> Option<(&Kamf, &mut NextHopChain)> {
        let chain = self.chain.as_mut().filter(|_| !self.is_renewing);
        chain.map(|chain| (&self.kamf, chain))
    }

    /// The UE has come by N2, and has taken what its target was told.
    pub fn arrive(&mut self, is_new_context: bool) {
        match &mut self.chain {
            _ if is_new_context => self.begin_chain(),
            Some(chain) => chain.is_taken(),
            None => {}
        }
    }

    /// The first key as one of a new security context.
    pub fn first_hop(&self) -> NextHop {
        NextHop {
            key: self.first_key(),
            ncc: 0,
        }
    }
}

/// Results of a registration.
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// Slices that the UE may use.
    pub allowed_nssai: Vec<Snssai>,
    /// Most bits per second to and from it.
    pub ambr_bps: (u64, u64),
}

/// Association with a PCF (TS 29.507).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AmPolicyAssociation {
    /// The PCF's name of it.
    pub policy: u64,
    /// RFSP index that gNBs are told.
    pub rfsp: Option<Rfsp>,
}

/// A PDU session as its SMF calls it.
#[derive(Debug)]
pub(crate) struct SmContext {
    /// In which slice.
    pub slice: Snssai,
    /// In which data network.
    pub dnn: Dnn,
    /// The SMF's name of it; none until it has one.
    pub context: Option<u64>,
    /// The gNB has it.
    pub is_up: bool,
    /// The gNB was asked to set it up, and has not answered: it may have it, and the UE may, too.
    pub is_asked: bool,
    /// Procedure of its establishment, while the AMF runs it.
    pub task: Option<TaskId>,
}

impl SmContext {
    /// Removes the session from its gNB; returns whether the gNB had it, or may have had it.
    pub fn leave(&mut self) -> bool {
        let was_up = std::mem::take(&mut self.is_up);
        std::mem::take(&mut self.is_asked) || was_up
    }
}

/// State of a UE whose context another AMF has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moving {
    /// End of the wait for what that AMF says.
    pub until: Instant,
    /// PDU sessions that it was told of, a bit for each: it may take them over.
    pub told: u16,
    /// UDM says that the UE is elsewhere.
    pub is_elsewhere: bool,
}

/// Context that came from another AMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Brought {
    /// Name of the UE there.
    pub from: Guti,
    /// PDU sessions of the UE there, a bit for each.
    pub sessions: u16,
}

/// Receiver of the answer to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiter {
    /// Nobody: it is done, or it is not.
    Nobody,
    /// The procedure of a UE.
    Ue(UeId),
    /// The establishment of a session of a UE.
    Establishment(UeId, u8),
    /// A session of a UE, for which the answer is delivered if it is the same still: its number, the SMF's name
    /// of it, and the step of the call flow.
    Session(UeId, u8, u64, &'static str),
    /// A subscriber to events or to the AMF's status, by its subscription.
    Subscriber(u64),
    /// A gNB that has a session's packets come elsewhere: the session's number, and the SMF's name of it.
    Indication(UeId, u8, u64),
}

/// Action to undo if a procedure is aborted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Undo {
    /// UDM was told that the UE is here.
    Registration(Supi),
    /// The UE leaves: what is left of that is done.
    Deregistration,
    /// The same of one that is elsewhere, as UDM knows.
    Removal,
}

/// A UE.
#[derive(Debug, Default)]
pub(crate) struct Ue {
    /// SUPI; known after an authentication.
    pub supi: Option<Supi>,
    /// 5G-GUTI.
    pub guti: Option<Guti>,
    /// Previous 5G-GUTI, until the UE has acknowledged the new one.
    pub old_guti: Option<Guti>,
    /// Algorithms that it has.
    pub capability: Option<SecurityCapability>,
    /// Keys in use.
    pub security: Option<Security>,
    /// Keys that a Security Mode Command has told of.
    pub new_security: Option<Security>,
    /// The UDM was asked to tell of changes of its subscription, by this process.
    pub is_subscribed: bool,
    /// AM policy association with the PCF; none of a UE of before a restart, until it registers again.
    pub policy: Option<AmPolicyAssociation>,
    /// Registration; none if the UE is not registered.
    pub registered: Option<Registered>,
    /// N2 connection of the UE.
    pub connection: Option<ConnectionId>,
    /// Which device it is.
    pub imeisv: Option<Imeisv>,
    /// UE Radio Capability from a gNB.
    pub radio_capability: Option<RadioCapability>,
    /// UE Radio Capability for Paging from a gNB.
    pub paging_capability: Option<PagingCapability>,
    /// The DRX value that was agreed.
    pub drx: Option<u8>,
    /// Sessions for which an idle UE is paged, and what their SMF has for the gNB.
    pub paged_for: BTreeMap<u8, Vec<u8>>,
    /// Whether the UE has answered a paging, for which it gets a new 5G-GUTI.
    pub is_paged: bool,
    /// Configuration changes that the UE must learn.
    pub news: News,
    /// Others that wait until it is connected.
    pub reached_for: Vec<RequestId>,
    /// State that subscribers to its events were shown last.
    pub shown: UeState,
    /// There is no use in paging it before then.
    pub unreachable_until: Option<Instant>,
    /// SM contexts by PDU session ID.
    pub sessions: BTreeMap<u8, SmContext>,
    /// Modify indications of the gNB that SMFs have not answered yet.
    pub indications: Vec<Indication>,
    /// When an idle UE counts as gone.
    pub gone_at: Option<Instant>,
    /// The procedure that is under way.
    pub task: Option<TaskId>,
    /// Actions to undo if that procedure is aborted.
    pub undo: Vec<Undo>,
    /// Handover of the UE.
    pub handover: Option<Handover>,
    /// Messages that are held back during a handover.
    pub held: VecDeque<Held>,
    /// Unprotected message of the UE during a handover.
    pub deferred: Option<Vec<u8>>,
    /// The request of the registration that is under way, as it came.
    pub request: Option<Box<RegistrationRequest>>,
    /// Another AMF has asked for the context, and may have the UE.
    pub moving: Option<Moving>,
    /// The context came from another AMF, which waits to hear what becomes of the UE.
    pub brought: Option<Brought>,
    /// Whether the UE's answers cannot be decoded, which operators were told of.
    pub is_not_understood: bool,
    /// The gNB by which it came, as long as it has not proved who it is.
    pub unauthenticated_at: Option<Origin>,
    /// Place of the UE before this process began, until its gNB is back.
    pub awaits: Option<At>,
    /// The fingerprint of its context as it is stored.
    pub kept: Option<u64>,
    /// Whether the stored radio capabilities are current.
    pub is_radio_kept: bool,
}

/// A UE-associated connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Over which gNB.
    pub association: AssociationId,
    /// The gNB's name of it.
    pub ran: RanUeId,
    /// User Location Information.
    pub location: Location,
    /// UE of the connection.
    pub ue: UeId,
    /// NAS messages are protected.
    pub is_secured: bool,
    /// The gNB has the UE's keys.
    pub has_context: bool,
    /// The gNB was told them by an Initial Context Setup Request, and has not answered.
    pub is_told: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ngap_identity_carries_its_generation() {
        let id = ConnectionId(Key {
            slot: 0x12_3456,
            generation: 0xabcd,
        });
        assert_eq!(id.to_ngap(), sluice_n2::AmfUeId(0xab_cd12_3457));
        assert_eq!(ConnectionId::from_ngap(id.to_ngap()), id);
    }

    #[test]
    fn no_ngap_identity_is_0_and_0_is_nobodys() {
        let mut connections = sluice_sbi::Slab::new(limits::CONNECTIONS);
        let first = ConnectionId(connections.insert(()).expect("room"));
        assert_eq!(first.to_ngap(), sluice_n2::AmfUeId(1));
        let nobody = ConnectionId::from_ngap(sluice_n2::AmfUeId(0));
        assert_eq!(connections.get(nobody.0), None);
        let last = ConnectionId(Key {
            slot: limits::CONNECTIONS as u32 - 1,
            generation: 0xffff,
        });
        assert_eq!(ConnectionId::from_ngap(last.to_ngap()), last);
    }
}
