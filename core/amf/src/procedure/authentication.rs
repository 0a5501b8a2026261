//! Authentication (TS 23.502, 4.2.2.2.2, step 9), by 5G-AKA (TS 33.501, 6.1.3.2; TS 24.501, 5.4.1.3) or by
//! EAP-AKA' (TS 33.501, 6.1.3.1; TS 24.501, 5.4.1.2): the home network says which.

use sluice_ids::{ServingNetworkName, Suci, Supi};
use sluice_n1::{AuthenticationRequest, Cause, Downlink, EapRequest, Uplink};
use sluice_sbi::{
    AuthMethod, AuthResult, Authenticate, Challenge, Confirm, Container, EapResponse, Identity,
    Problem, Resynchronisation,
};
use sluice_security::{Abba, Kamf, Kseaf, hxres_star, kamf};

use crate::key_names::KeyNames;
use crate::limits;
use crate::procedure::common;
use crate::procedure::{Kind, Procedure};
use crate::refusal::Refusal;

/// ABBA of Release 17 (TS 33.501, A.7.1), to which KAMF is bound.
pub(crate) const ABBA: Abba = [0, 0];

/// A subscriber who has proved who it is.
pub(crate) struct Authenticated {
    pub supi: Supi,
    pub kamf: Kamf,
    /// Key set identifier (ngKSI).
    pub ngksi: u8,
    /// EAP-Success, which the UE is told with the new keys.
    pub eap: Option<Vec<u8>>,
}

/// How a UE answered a challenge otherwise than it should.
#[derive(Default)]
struct Attempts {
    resynchronisations: usize,
    ngksi_in_use: usize,
}

/// How an exchange with a UE ended.
enum Ended {
    /// The UE has proved who it is.
    Proved(Box<Authenticated>),
    /// The SIM's sequence number is ahead.
    Ahead(Resynchronisation),
    /// The UE already has keys with this ngKSI.
    NgksiInUse,
    /// The UE failed the authentication.
    Failed(Refusal),
    /// The home network has not said whether it has.
    Unconfirmed,
}

/// Authenticates a UE. `taken` are names of keys that it has, or that are known here as its own. `is_shown` says that
/// the UE itself gave the identity just now.
pub(crate) async fn run(
    p: &Procedure,
    mut identity: Identity,
    mut taken: KeyNames,
    mut is_shown: bool,
) -> Result<Authenticated, Refusal> {
    let network = serving_network(p);
    let mut attempts = Attempts::default();
    let mut resynchronisation = Resynchronisation::default();
    let mut is_confirmed = true;
    let mut ngksi = taken.another();
    loop {
        // 9a: a challenge of the home network
        let request = Authenticate {
            identity,
            network,
            resynchronisation,
        };
        let challenge = p.call("9a", request).await?;
        resynchronisation = Resynchronisation::default();
        let ended = match challenge.method {
            AuthMethod::EapAkaPrime => {
                by_eap(p, &challenge, &mut attempts, (&mut taken, &mut ngksi)).await?
            }
            AuthMethod::FiveGAka => by_5g_aka(p, &challenge, &mut attempts, ngksi).await?,
        };
        match ended {
            Ended::Proved(authenticated) => return Ok(*authenticated),
            Ended::Ahead(by) => resynchronisation = by,
            Ended::NgksiInUse => {
                taken.add(ngksi);
                ngksi = taken.another();
            }
            // It may be another UE than we take it for: its own word, and another challenge (5.4.1.3.7).
            Ended::Failed(refusal) if !is_shown => {
                let suci = common::identify(p).await?;
                // The name was right, and so was the challenge.
                if identity.get().is_ok_and(|supi| shows(&suci, supi)) {
                    return Err(refusal);
                }
                (identity, is_shown) = (suci.into(), true);
            }
            Ended::Failed(refusal) => return Err(refusal),
            // Not that UE's fault, which is asked once more, as if it had not proved who it is.
            Ended::Unconfirmed if is_confirmed => {
                is_confirmed = false;
                (identity, is_shown) = (common::identify(p).await?.into(), true);
            }
            Ended::Unconfirmed => return Err(Problem::Timeout.into()),
        }
    }
}

/// Whether a SUCI is that of a subscriber, without being concealed.
fn shows(suci: &Suci, supi: Supi) -> bool {
    shown(suci) == Some(supi)
}

/// SUPI in a SUCI of the null scheme.
pub(crate) fn shown(suci: &Suci) -> Option<Supi> {
    Supi::from_msin(suci.home, &suci.msin()?)
}

/// The name of the network which the UE has chosen, and which its cell is of (TS 33.501, 6.1.1.4.1).
pub(crate) fn serving_network(p: &Procedure) -> ServingNetworkName {
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

/// One challenge of 5G-AKA.
async fn by_5g_aka(
    p: &Procedure,
    challenge: &Challenge,
    attempts: &mut Attempts,
    ngksi: u8,
) -> Result<Ended, Refusal> {
    // 9b: the UE is asked; T3560
    let request = AuthenticationRequest {
        ngksi,
        abba: ABBA,
        rand: challenge.rand,
        autn: challenge.autn,
    };
    let answer = match ask(p, Downlink::AuthenticationRequest(request)).await {
        Ok(answer) => answer,
        Err(refusal) => {
            tell_failure(p, challenge).await;
            return Err(refusal);
        }
    };
    match answer {
        Uplink::AuthenticationResponse(res_star) => confirm(p, challenge, res_star, ngksi).await,
        Uplink::AuthenticationFailure {
            cause: Cause::SYNCH_FAILURE,
            auts: Some(auts),
        } if attempts.resynchronisations < limits::RESYNCHRONISATIONS => {
            attempts.resynchronisations += 1;
            Ok(Ended::Ahead(Resynchronisation {
                wanted: true,
                rand: challenge.rand,
                auts,
            }))
        }
        Uplink::AuthenticationFailure {
            cause: Cause::NGKSI_IN_USE,
            ..
        } if attempts.ngksi_in_use == 0 => {
            attempts.ngksi_in_use += 1;
            Ok(Ended::NgksiInUse)
        }
        Uplink::AuthenticationFailure {
            cause: Cause::MAC_FAILURE | Cause::NON_5G_AUTHENTICATION,
            ..
        } => {
            tell_failure(p, challenge).await;
            Ok(Ended::Failed(Refusal::Authentication))
        }
        _ => {
            tell_failure(p, challenge).await;
            Err(Refusal::Authentication)
        }
    }
}

/// 9c and 9d: the answer is checked here, then by the home network.
async fn confirm(
    p: &Procedure,
    challenge: &Challenge,
    res_star: [u8; 16],
    ngksi: u8,
) -> Result<Ended, Refusal> {
    if hxres_star(challenge.rand, &res_star) != challenge.hxres_star {
        tell_failure(p, challenge).await;
        return Ok(Ended::Failed(Refusal::Authentication));
    }
    let request = Confirm {
        context: challenge.context,
        instance: challenge.instance,
        res_star,
        is_null: false,
    };
    let confirmed = match p.call("9c", request).await {
        Ok(confirmed) => confirmed,
        Err(Problem::Timeout) => return Ok(Ended::Unconfirmed),
        Err(problem @ Problem::AuthenticationRejected) => return Ok(Ended::Failed(problem.into())),
        Err(problem) => return Err(problem.into()),
    };
    let kamf = kamf(&Kseaf::new(confirmed.kseaf), &confirmed.supi, &ABBA);
    Ok(Ended::Proved(Box::new(Authenticated {
        supi: confirmed.supi,
        kamf: kamf.ok_or(Refusal::Authentication)?,
        ngksi,
        eap: None,
    })))
}

/// No right RES* will come: the home network hears so by a null one (TS 33.501, 6.1.3.2.2; TS 29.509, 5.2.2.2.2). The
/// UE is told the same, whatever is answered.
async fn tell_failure(p: &Procedure, challenge: &Challenge) {
    let request = Confirm {
        context: challenge.context,
        instance: challenge.instance,
        res_star: [0; 16],
        is_null: true,
    };
    let _ = p.call("9c", request).await;
}

/// Packets of the home network and of the UE are passed on until the home network has made up its mind.
async fn by_eap(
    p: &Procedure,
    challenge: &Challenge,
    attempts: &mut Attempts,
    (taken, ngksi): (&mut KeyNames, &mut u8),
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
            // The challenge stays.
            Uplink::AuthenticationFailure {
                cause: Cause::NGKSI_IN_USE,
                ..
            } if attempts.ngksi_in_use == 0 => {
                attempts.ngksi_in_use += 1;
                taken.add(*ngksi);
                *ngksi = taken.another();
                continue;
            }
            _ => return Err(Refusal::Authentication),
        };
        // 9c: the home network looks at it
        let eap = Container::new(&answered).ok_or(Refusal::Authentication)?;
        let response = EapResponse {
            context,
            instance: challenge.instance,
            eap,
        };
        let outcome = match p.call("9c", response).await {
            Err(Problem::Timeout) => return Ok(Ended::Unconfirmed),
            outcome => outcome?,
        };
        (context, packet) = (outcome.context, outcome.eap);
        let eap = packet.get().unwrap_or_default().to_vec();
        match outcome.result {
            AuthResult::Ongoing => {}
            AuthResult::Failure => return Ok(Ended::Failed(Refusal::Eap(eap))),
            AuthResult::Success => {
                let kamf = kamf(&Kseaf::new(outcome.kseaf), &outcome.supi, &ABBA);
                return Ok(Ended::Proved(Box::new(Authenticated {
                    supi: outcome.supi,
                    kamf: kamf.ok_or(Refusal::Authentication)?,
                    ngksi: *ngksi,
                    eap: Some(eap),
                })));
            }
        }
    }
    Err(Refusal::Authentication)
}
