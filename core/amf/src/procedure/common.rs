//! Small procedures that others have in common: identification and configuration update.

use sluice_ids::Suci;
use sluice_n1::{
    Cause, ConfigurationUpdate, Downlink, IdentityKind, MobileIdentity, NetworkTime, Uplink,
};

use crate::procedure::{Kind, Procedure};
use crate::refusal::Refusal;

/// Identification: asks a UE for its SUCI (TS 23.502, 4.2.2.2.2, steps 6 and 7; TS 24.501, 5.4.3).
pub(crate) async fn identify(p: &Procedure) -> Result<Suci, Refusal> {
    let request = Downlink::IdentityRequest(IdentityKind::Suci);
    // T3570
    let answer = p
        .ask("6", Kind::Identity, |p| {
            p.send("6", &request);
            Ok(())
        })
        .await?;
    match answer {
        Uplink::IdentityResponse(MobileIdentity::Suci(suci)) => Ok(suci),
        _ => Err(Refusal::Registration(Cause::IDENTITY_UNKNOWN)),
    }
}

/// Configuration update (TS 23.502, 4.2.4.2; TS 24.501, 5.4.4): tells the UE names and time, if the operator has any to be told. Nothing waits for an answer:
/// none is asked for.
pub(crate) fn tell_names_and_time(p: &Procedure) {
    let update = p.with(|state| {
        let names = state.config.network_name.clone();
        let (full_name, short_name) = names.unzip();
        let unix_s = state.now.unix_s;
        let at = |offset_quarters| NetworkTime {
            unix_s,
            offset_quarters,
        };
        let time = state.config.time_zone_quarters.map(at);
        ConfigurationUpdate {
            acknowledge: false,
            register: false,
            guti: None,
            full_name,
            short_name,
            time,
        }
    });
    if update != ConfigurationUpdate::default() {
        // 1: the AMF decides; 2a: UE Configuration Update Command
        p.send("2a", &Downlink::ConfigurationUpdateCommand(update));
    }
}

/// Configuration update with a new name (TS 24.501, 5.4.4.2); both names are good until the UE has
/// acknowledged the new one, also if it never does (5.4.4.6 a).
pub(crate) async fn rename(p: &Procedure) {
    let guti = p.with(|state| {
        let guti = state.new_guti();
        state.rename(p.ue, guti);
        guti
    });
    let update = Downlink::ConfigurationUpdateCommand(ConfigurationUpdate {
        acknowledge: true,
        guti: Some(guti),
        ..ConfigurationUpdate::default()
    });
    // What is stored knows the name before the UE does.
    if p.commit().await.is_err() {
        return;
    }
    // 2a and 2b; T3555
    let answer = p.ask("2b", Kind::Configuration, |p| {
        p.send("2a", &update);
        Ok(())
    });
    if answer.await.is_ok() {
        p.with(|state| state.forget_old_name(p.ue));
    }
}
