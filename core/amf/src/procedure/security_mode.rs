//! Security mode: both ends begin to use new keys (TS 23.502, 4.2.2.2.2, step 9d; TS 24.501, 5.4.2).

use sluice_n1::{
    Cause, Downlink, Header, MobileIdentity, RegistrationRequest, SecurityContext,
    SecurityModeCommand, Side, Uplink,
};
use sluice_security::{Kamf, NasCount, NasKeys, SecurityCapability};

use crate::context::ue::Security;
use crate::procedure::authentication::{ABBA, Authenticated};
use crate::procedure::{Kind, Procedure};
use crate::refusal::Refusal;

/// Keys that a UE is to use.
pub(crate) struct NewKeys {
    pub kamf: Kamf,
    /// Key set identifier (ngKSI).
    pub ngksi: u8,
    pub origin: Origin,
}

/// Why a UE has new keys of NAS.
pub(crate) enum Origin {
    /// An authentication; with EAP-Success, if that was by EAP.
    Authentication(Option<Vec<u8>>),
    /// Derivation for this AMF: the UE derives them, too (TS 33.501, 6.9.3).
    Derivation,
    /// Other algorithms of keys in use, whose counts go on: of the next message to the UE, and of the earliest from it
    /// (TS 33.501, 6.7.2).
    Algorithms(Option<NasCount>, Option<NasCount>),
}

impl From<Authenticated> for NewKeys {
    fn from(authenticated: Authenticated) -> Self {
        let Authenticated {
            kamf, ngksi, eap, ..
        } = authenticated;
        Self {
            kamf,
            ngksi,
            origin: Origin::Authentication(eap),
        }
    }
}

impl NewKeys {
    fn command(&self, capability: SecurityCapability, keys: &NasKeys) -> SecurityModeCommand {
        let (abba, eap) = match &self.origin {
            Origin::Authentication(eap) => (Some(ABBA), eap.clone()),
            Origin::Derivation | Origin::Algorithms(..) => (None, None),
        };
        SecurityModeCommand {
            ciphering: keys.ciphering,
            integrity: keys.integrity,
            ngksi: self.ngksi,
            capability,
            ask_imeisv: false,
            ask_initial_message: false,
            derives_key: matches!(self.origin, Origin::Derivation),
            abba,
            eap,
        }
    }

    fn security(self, keys: NasKeys) -> Security {
        let context = match self.origin {
            Origin::Algorithms(send, receive) => {
                SecurityContext::resumed(Side::Network, self.ngksi, keys, send, receive)
            }
            Origin::Authentication(_) | Origin::Derivation => {
                SecurityContext::new(Side::Network, self.ngksi, keys)
            }
        };
        Security {
            context,
            kamf: self.kamf,
            last_uplink: NasCount::default(),
            chain: None,
            is_renewing: false,
            reserved: 0,
        }
    }
}

/// Has the UE use new keys. `ask_initial_message` says that what it sent first cannot be trusted.
/// Gives the whole initial message, if the UE sends it again.
pub(crate) async fn run(
    p: &Procedure,
    new: NewKeys,
    capability: SecurityCapability,
    ask_initial_message: bool,
) -> Result<Option<RegistrationRequest>, Refusal> {
    let (preference, ask_imeisv) =
        p.with(|state| (state.config.preference.clone(), state.config.ask_imeisv));
    let (ciphering, integrity) = preference
        .choose(&capability)
        .ok_or(Refusal::Registration(Cause::SECURITY_CAPABILITIES_MISMATCH))?;
    let keys = NasKeys::new(&new.kamf, ciphering, integrity);
    let command = Downlink::SecurityModeCommand(SecurityModeCommand {
        ask_imeisv,
        ask_initial_message,
        ..new.command(capability, &keys)
    });
    let security = new.security(keys);
    p.with_ue(|ue| ue.new_security = Some(security));
    // T3560
    let answer = p
        .ask("9d", Kind::SecurityMode, |p| send(p, &command))
        .await?;
    let (imeisv, container) = match answer {
        Uplink::SecurityModeComplete { imeisv, container } => (imeisv, container),
        Uplink::SecurityModeReject(cause) => return Err(Refusal::SecurityMode(cause)),
        _ => return Err(Refusal::Silent("the UE does not answer the security mode")),
    };
    // The keys are in use since the UE's answer was verified with them.
    if let Some(MobileIdentity::Imeisv(imeisv)) = imeisv {
        p.with_ue(|ue| ue.imeisv = Some(imeisv));
    }
    Ok(container.and_then(|octets| match Uplink::decode(&octets) {
        Ok(Uplink::RegistrationRequest(request)) => Some(*request),
        _ => None,
    }))
}

/// Protected with keys that the UE is only told of by this message.
fn send(p: &Procedure, command: &Downlink) -> Result<(), Refusal> {
    p.with(|state| {
        let plain = command.encode();
        state.see_nas(p.ue, false, &plain);
        let ue = state.ues.get_mut(p.ue.0);
        let security = ue.and_then(|ue| ue.new_security.as_mut());
        let protected = security
            .and_then(|security| security.context.protect(Header::IntegrityNew, &plain))
            .ok_or(Refusal::Silent("the new keys are used up"))?;
        state.line("AMF", "UE", "9d", command.name(), p.ue);
        state.send_octets(p.ue, protected);
        Ok(())
    })
}
