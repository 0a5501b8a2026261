//! Authentication (TS 23.502, 4.2.2.2.2, step 9), by 5G-AKA (TS 33.501, 6.1.3.2; TS 24.501, 5.4.1.3) or by
//! EAP-AKA' (TS 33.501, 6.1.3.1; TS 24.501, 5.4.1.2): the home network says which.

use sluice_ids::{ServingNetworkName, Supi};
use sluice_n1::{AuthenticationRequest, Cause, Downlink, EapRequest, Uplink};
use sluice_sbi::{
    AuthMethod, AuthResult, Authenticate, Challenge, Confirm, Container, EapResponse, Identity,
    Problem, Resynchronisation,
};
use sluice_security::{Abba, Kamf, Kseaf, hxres_star, kamf};

use crate::common_procedures;
use crate::limits;
use crate::procedure::{Kind, Procedure};
use crate::refusal::Refusal;

/// What KAMF is bound to in Release 17 (TS 33.501, A.7.1).
pub(crate) const ABBA: Abba = [0, 0];

/// A subscriber who has proved who it is.
pub(crate) struct Authenticated {
    pub supi: Supi,
    pub kamf: Kamf,
    /// What the keys are called.
    pub ngksi: u8,
    /// EAP-Success, which the UE is told with the new keys.
    pub eap: Option<Vec<u8>>,
}

/// How a UE answered a challenge otherwise than it should.
#[derive(Default)]
struct Attempts {
    resynchronisations: usize,
    mac_failures: usize,
    ngksi_in_use: usize,
}

/// Authenticates a UE. `used` is what it calls keys that it has. `is_shown` says that the UE itself
/// gave the identity just now.
pub(crate) async fn run(
    p: &Procedure,
    mut identity: Identity,
    used: u8,
    is_shown: bool,
) -> Result<Authenticated, Refusal> {
    let network = serving_network(p);
    let mut attempts = Attempts::default();
    let mut resynchronisation = Resynchronisation::default();
    let mut ngksi = another(used);
    loop {
        // 9a: a challenge of the home network
        let request = Authenticate {
            identity,
            network,
            resynchronisation,
        };
        let challenge = p.call("9a", request).await?;
        resynchronisation = Resynchronisation::default();
        if challenge.method == AuthMethod::EapAkaPrime {
            match by_eap(p, &challenge, &mut attempts, &mut ngksi).await? {
                Ended::Proved(authenticated) => return Ok(authenticated),
                // It may be another UE than we take it for: its own word, and another challenge.
                Ended::Failed(_) if attempts.mac_failures == 0 && !is_shown => {
                    attempts.mac_failures += 1;
                    identity = common_procedures::identify(p).await?.into();
                    continue;
                }
                Ended::Failed(eap) => return Err(Refusal::Eap(eap)),
            }
        }
        // 9b: the UE is asked; T3560
        let request = AuthenticationRequest {
            ngksi,
            abba: ABBA,
            rand: challenge.rand,
            autn: challenge.autn,
        };
        match ask(p, Downlink::AuthenticationRequest(request)).await? {
            Uplink::AuthenticationResponse(res_star) => {
                let (supi, kamf) = confirm(p, &challenge, res_star).await?;
                return Ok(Authenticated {
                    supi,
                    kamf,
                    ngksi,
                    eap: None,
                });
            }
            Uplink::AuthenticationFailure {
                cause: Cause::SYNCH_FAILURE,
                auts: Some(auts),
            } if attempts.resynchronisations < limits::RESYNCHRONISATIONS => {
                attempts.resynchronisations += 1;
                resynchronisation = Resynchronisation {
                    wanted: true,
                    rand: challenge.rand,
                    auts,
                };
            }
            // It may be another UE than we take it for: its own word, and a second challenge.
            Uplink::AuthenticationFailure {
                cause: Cause::MAC_FAILURE,
                ..
            } if attempts.mac_failures == 0 && !is_shown => {
                attempts.mac_failures += 1;
                identity = common_procedures::identify(p).await?.into();
            }
            Uplink::AuthenticationFailure {
                cause: Cause::NGKSI_IN_USE,
                ..
            } if attempts.ngksi_in_use == 0 => {
                attempts.ngksi_in_use += 1;
                ngksi = another(ngksi);
            }
            _ => return Err(Refusal::Authentication),
        }
    }
}

/// The name of the network which the UE has chosen, and which its cell is of (TS 33.501, 6.1.1.4.1).
fn serving_network(p: &Procedure) -> ServingNetworkName {
    let tai = p.with_connection(|connection| connection.location.tai);
    let plmn = tai.map_or_else(|| p.with(|state| state.config.guami.plmn), |tai| tai.plmn);
    plmn.serving_network_name()
}

/// Asks the UE to prove who it is.
async fn ask(p: &Procedure, message: Downlink) -> Result<Uplink, Refusal> {
    let send = |p: &Procedure| {
        p.send("9b", &message);
        Ok(())
    };
    p.ask("9b", Kind::Authentication, send).await
}

/// How an exchange of EAP ended.
enum Ended {
    /// The UE has proved who it is.
    Proved(Authenticated),
    /// It has not: EAP-Failure.
    Failed(Vec<u8>),
}

/// Packets of the home network and of the UE are passed on until the home network has made up its mind.
async fn by_eap(
    p: &Procedure,
    challenge: &Challenge,
    attempts: &mut Attempts,
    ngksi: &mut u8,
) -> Result<Ended, Refusal> {
    let (mut context, mut packet) = (challenge.context, challenge.eap);
    for _ in 0..limits::EAP_REQUESTS {
        let eap = packet.get().ok_or(Problem::Protocol)?.to_vec();
        // 9b: the UE is asked; T3560
        let request = EapRequest {
            ngksi: *ngksi,
            abba: ABBA,
            eap,
        };
        let answered = match ask(p, Downlink::EapRequest(request)).await? {
            Uplink::EapResponse(answered) => answered,
            Uplink::AuthenticationFailure {
                cause: Cause::NGKSI_IN_USE,
                ..
            } if attempts.ngksi_in_use == 0 => {
                attempts.ngksi_in_use += 1;
                *ngksi = another(*ngksi);
                continue;
            }
            _ => return Err(Refusal::Authentication),
        };
        // 9c: the home network looks at it
        let eap = Container::new(&answered).ok_or(Refusal::Authentication)?;
        let outcome = p.call("9c", EapResponse { context, eap }).await?;
        (context, packet) = (outcome.context, outcome.eap);
        let eap = packet.get().unwrap_or_default().to_vec();
        match outcome.result {
            AuthResult::Ongoing => {}
            AuthResult::Failure => return Ok(Ended::Failed(eap)),
            AuthResult::Success => {
                let kamf = kamf(&Kseaf::new(outcome.kseaf), &outcome.supi, &ABBA);
                return Ok(Ended::Proved(Authenticated {
                    supi: outcome.supi,
                    kamf: kamf.ok_or(Refusal::Authentication)?,
                    ngksi: *ngksi,
                    eap: Some(eap),
                }));
            }
        }
    }
    Err(Refusal::Authentication)
}

/// A key set identifier that is not this one; 7 names no keys.
fn another(ngksi: u8) -> u8 {
    if ngksi >= 6 { 0 } else { ngksi + 1 }
}

/// 9c and 9d: the answer is checked here, then by the home network.
async fn confirm(
    p: &Procedure,
    challenge: &Challenge,
    res_star: [u8; 16],
) -> Result<(Supi, Kamf), Refusal> {
    if hxres_star(challenge.rand, &res_star) != challenge.hxres_star {
        return Err(Refusal::Authentication);
    }
    let confirmed = p
        .call(
            "9c",
            Confirm {
                context: challenge.context,
                res_star,
            },
        )
        .await?;
    let kamf = kamf(&Kseaf::new(confirmed.kseaf), &confirmed.supi, &ABBA);
    Ok((confirmed.supi, kamf.ok_or(Refusal::Authentication)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_have_another_name() {
        for used in 0..=7 {
            let new = another(used);
            assert!(new < 7 && new != used, "{used}: {new}");
        }
    }
}
