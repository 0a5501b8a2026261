//! Security mode: both ends begin to use new keys (TS 23.502, 4.2.2.2.2, step 9d; TS 24.501, 5.4.2).

use sluice_n1::{
    Cause, Downlink, Header, MobileIdentity, RegistrationRequest, SecurityContext,
    SecurityModeCommand, Side, Uplink,
};
use sluice_security::{NasCount, NasKeys, SecurityCapability};

use crate::context::ue::Security;
use crate::procedure::authentication::{ABBA, Authenticated};
use crate::procedure::{Kind, Procedure};
use crate::refusal::Refusal;

/// Has the UE use new keys. `ask_initial_message` says that what it sent first cannot be trusted.
/// Gives the whole initial message, if the UE sends it again.
pub(crate) async fn run(
    p: &Procedure,
    new: &Authenticated,
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
        ciphering,
        integrity,
        ngksi: new.ngksi,
        capability,
        ask_imeisv,
        ask_initial_message,
        abba: Some(ABBA),
        eap: new.eap.clone(),
    });
    let context = SecurityContext::new(Side::Network, new.ngksi, keys);
    let security = Security {
        context,
        kamf: new.kamf.clone(),
        last_uplink: NasCount::default(),
        chain: None,
        is_renewing: false,
        reserved: 0,
    };
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
