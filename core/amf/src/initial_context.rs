//! Initial context setup: the gNB gets a UE's keys, and the UE a message (TS 38.413, 8.3.1).

use sluice_n1::Downlink;
use sluice_n2::{FromAmf, InitialContext};
use sluice_security::{NextHopChain, access_key};

use crate::procedure::Procedure;
use crate::refusal::Refusal;

/// Initial Context Setup Request with the message for the UE. The key of the access stratum follows
/// from the last uplink message whose MAC was right.
pub(crate) fn request(
    p: &Procedure,
    step: &'static str,
    message: &Downlink,
) -> Result<(), Refusal> {
    let no_keys = || Refusal::Silent("the UE has no keys");
    p.with(|state| {
        let nas = state.protect(p.ue, message).ok_or_else(no_keys)?;
        let (id, connection) = state
            .connection(p.ue)
            .ok_or(Refusal::Silent("the UE is not connected"))?;
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        let guami = state.config.guami;
        let ue = state.ues.get_mut(p.ue.0).ok_or_else(no_keys)?;
        let (security, registered, capability) =
            match (ue.security.as_mut(), ue.registered.as_ref(), ue.capability) {
                (Some(security), Some(registered), Some(capability)) => {
                    (security, registered, capability)
                }
                _ => return Err(no_keys()),
            };
        // KgNB of the message that made this needed (TS 33.501, A.9), and the chain that follows.
        let key = access_key(&security.kamf, security.last_uplink);
        security.chain = Some(NextHopChain::new(&security.kamf, &key));
        let request = FromAmf::InitialContextSetupRequest(Box::new(InitialContext {
            ids,
            guami,
            ambr_bps: Some(registered.ambr_bps),
            allowed_nssai: registered.allowed_nssai.clone(),
            capability,
            key,
            masked_imeisv: ue.imeisv.map(sluice_ids::Imeisv::masked),
            radio_capability: ue.radio_capability.clone(),
            nas: Some(nas),
        }));
        state.line("AMF", "gNB", step, request.name(), p.ue);
        state.line("AMF", "UE", step, message.name(), p.ue);
        state.send_n2(association, Some(p.ue), &request);
        Ok(())
    })
}
