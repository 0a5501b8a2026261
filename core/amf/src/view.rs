//! Views of gNBs and UEs for operators.

use sluice_ids::{Dnn, Guti, Imeisv, Snssai, Supi};
use sluice_n2::{AmfUeId, Location, RanUeId, SupportedArea};
use sluice_sbi::AssociationId;

use crate::Amf;
use crate::context::ue::UeId;

/// A gNB whose NG Setup succeeded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gnb {
    /// N2 association of the gNB.
    pub association: AssociationId,
    /// Global gNB ID.
    pub identity: sluice_n2::Gnb,
    /// RAN Node Name.
    pub name: Option<String>,
    /// Supported tracking areas with slices.
    pub areas: Vec<SupportedArea>,
    /// UEs that are connected over it.
    pub connected: usize,
}

/// Connection of a UE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connected {
    /// Over which gNB.
    pub association: AssociationId,
    /// The gNB's name of the connection.
    pub ran: RanUeId,
    /// The AMF's name of it.
    pub amf: AmfUeId,
    /// User Location Information.
    pub location: Location,
}

/// A PDU session as the AMF knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// PDU session identity.
    pub identity: u8,
    /// In which slice.
    pub slice: Snssai,
    /// In which data network.
    pub dnn: Dnn,
    /// The gNB has it.
    pub is_up: bool,
}

/// A UE that has proved who it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ue {
    /// SUPI of the UE.
    pub supi: Supi,
    /// 5G-GUTI of the UE.
    pub guti: Option<Guti>,
    /// Which device it is.
    pub imeisv: Option<Imeisv>,
    /// Whether the UE is registered.
    pub is_registered: bool,
    /// Slices that it may use.
    pub allowed_nssai: Vec<Snssai>,
    /// Most bits per second to and from it.
    pub ambr_bps: Option<(u64, u64)>,
    /// None while it is idle.
    pub connected: Option<Connected>,
    /// PDU sessions of the UE.
    pub sessions: Vec<Session>,
    /// The step at which its procedure waits; none if there is none.
    pub step: Option<&'static str>,
}

/// A procedure that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// SUPI of the UE, as far as it is known.
    pub supi: Option<Supi>,
    /// Of which session, if of one.
    pub session: Option<u8>,
    /// The step at which it waits.
    pub step: &'static str,
}

impl Amf {
    /// gNBs whose NG Setup succeeded.
    pub fn gnbs(&self) -> Vec<Gnb> {
        let state = self.state.borrow();
        let gnbs = state.gnbs.iter().map(|(association, gnb)| Gnb {
            association: *association,
            identity: gnb.identity,
            name: gnb.name.clone(),
            areas: gnb.areas.clone(),
            connected: state.connections_of(*association).len(),
        });
        gnbs.collect()
    }

    /// UEs by their identities from `from` on, at most so many.
    pub fn ues(&self, from: Option<Supi>, most: usize) -> Vec<Ue> {
        let known: Vec<UeId> = self.state.borrow().known(from).take(most).collect();
        known.into_iter().filter_map(|ue| self.view(ue)).collect()
    }

    /// How many UEs have proved who they are.
    pub fn known(&self) -> usize {
        self.state.borrow().subscribers()
    }

    /// A subscriber's UE.
    pub fn ue(&self, supi: &Supi) -> Option<Ue> {
        let ue = self.state.borrow().find_supi(supi);
        ue.and_then(|ue| self.view(ue))
    }

    /// Procedures under way.
    pub fn waiting(&self) -> Vec<Waiting> {
        let state = self.state.borrow();
        let waiting = self.owners.iter().filter_map(|(task, (ue, session))| {
            Some(Waiting {
                supi: state.ues.get(ue.0).and_then(|ue| ue.supi),
                session: *session,
                step: self.tasks.step(*task)?,
            })
        });
        waiting.collect()
    }

    fn view(&self, id: UeId) -> Option<Ue> {
        let state = self.state.borrow();
        let ue = state.ues.get(id.0)?;
        let connected = state.connection(id).map(|(name, connection)| Connected {
            association: connection.association,
            ran: connection.ran,
            amf: name.to_ngap(),
            location: connection.location,
        });
        let session = |(identity, one): (&u8, &crate::context::ue::SmContext)| Session {
            identity: *identity,
            slice: one.slice,
            dnn: one.dnn,
            is_up: one.is_up,
        };
        Some(Ue {
            supi: ue.supi?,
            guti: ue.guti,
            imeisv: ue.imeisv,
            is_registered: ue.registered.is_some(),
            allowed_nssai: ue
                .registered
                .as_ref()
                .map(|registered| registered.allowed_nssai.clone())
                .unwrap_or_default(),
            ambr_bps: ue.registered.as_ref().map(|registered| registered.ambr_bps),
            connected,
            sessions: ue.sessions.iter().map(session).collect(),
            step: ue.task.and_then(|task| self.tasks.step(task)),
        })
    }
}
