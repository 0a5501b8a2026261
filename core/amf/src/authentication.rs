//! Authentication by 5G-AKA (TS 23.502, 4.2.2.2.2, step 9; TS 33.501, 6.1.3.2; TS 24.501, 5.4.1.3).

use sluice_ids::Supi;
use sluice_n1::{AuthenticationRequest, Cause, Downlink, Uplink};
use sluice_sbi::{Authenticate, Challenge, Confirm, Identity, Resynchronisation};
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
}

/// How a UE answered a challenge otherwise than it should.
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
    let network = p.with(|state| state.config.guami.plmn.serving_network_name());
    let mut attempts = Attempts {
        resynchronisations: 0,
        mac_failures: 0,
        ngksi_in_use: 0,
    };
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
        // 9b: the UE is asked; T3560
        let message = Downlink::AuthenticationRequest(AuthenticationRequest {
            ngksi,
            abba: ABBA,
            rand: challenge.rand,
            autn: challenge.autn,
        });
        let answer = p
            .ask("9b", Kind::Authentication, |p| {
                p.send("9b", &message);
                Ok(())
            })
            .await?;
        match answer {
            Uplink::AuthenticationResponse(res_star) => {
                let (supi, kamf) = confirm(p, &challenge, res_star).await?;
                return Ok(Authenticated { supi, kamf, ngksi });
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
