//! Identification: which subscriber a UE is (TS 23.502, 4.2.2.2.2, steps 6 and 7; TS 24.501, 5.4.3).

use sluice_ids::Suci;
use sluice_n1::{Cause, Downlink, IdentityKind, MobileIdentity, Uplink};

use crate::procedure::{Kind, Procedure};
use crate::refusal::Refusal;

/// Asks a UE for its SUCI.
pub(crate) async fn run(p: &Procedure) -> Result<Suci, Refusal> {
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
