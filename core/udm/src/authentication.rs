//! Authentication vectors (TS 33.501, 6.1.2 and 6.1.3.2.0; Nudm_UEAuthentication of TS 29.503).

use sluice_ids::Supi;
use sluice_sbi::server::Procedure;
use sluice_sbi::{
    AdvanceSqn, AuthMethod, AuthenticationData, AuthenticationOutcome, AuthenticationSubscription,
    Done, GetAuthenticationData, Identity, Problem, QuerySubscription, SimAlgorithm,
    StoreAuthentication,
};
use sluice_security::suci;
use sluice_security::{Credentials, K, K256, Opc, Sqn, Subscriber, Topc, TuakKey};

use crate::State;

/// Nudm_UEAuthentication_Get.
pub(crate) async fn get(
    p: &Procedure<State>,
    request: GetAuthenticationData,
) -> Result<AuthenticationData, Problem> {
    // SIDF: the SUCI becomes a SUPI.
    let supi = identify(p, &request.identity)?;
    // What the SIM said of its sequence number counts only if it is the SIM that said it.
    let resynchronisation = request.resynchronisation;
    let mut above = None;
    if resynchronisation.wanted {
        let keys = p.call("9a", Some(supi), QuerySubscription { supi }).await?;
        let home = subscriber(&keys);
        let said = home.resynchronise(resynchronisation.rand, &resynchronisation.auts);
        above = Some(said.ok_or(Problem::AuthenticationRejected)?);
    }
    // The next sequence number; its counting part follows time, so that a lost store repeats none
    // (TS 33.102, C.1.1.3).
    let floor = p.with(|_, now| now.unix_s);
    let advance = AdvanceSqn {
        supi,
        above: above.unwrap_or_default().get().into(),
        resynchronised: above.is_some(),
        floor: floor.into(),
    };
    let keys = p.call("9a", Some(supi), advance).await?;
    // ARPF: the vector, bound to the serving network.
    let rand = p.with(|state, _| {
        let mut rand = [0; 16];
        state.random.fill(&mut rand);
        rand
    });
    let (home, sqn) = (subscriber(&keys), Sqn::new(keys.sqn.get()));
    let (method, network) = (keys.method, &request.network);
    Ok(match method {
        AuthMethod::FiveGAka => {
            let challenge = home.challenge(rand, sqn, network);
            AuthenticationData {
                supi,
                rand,
                autn: challenge.autn,
                method,
                xres_star: challenge.xres_star,
                kausf: *challenge.kausf.octets(),
                xres: [0; 8],
                prime_keys: [0; 32],
            }
        }
        AuthMethod::EapAkaPrime => {
            let challenge = home.prime_challenge(rand, sqn, network);
            AuthenticationData {
                supi,
                rand,
                autn: challenge.autn,
                method,
                xres_star: [0; 16],
                kausf: [0; 32],
                xres: challenge.xres,
                prime_keys: *challenge.keys,
            }
        }
    })
}

/// ARPF's end of a SIM.
fn subscriber(keys: &AuthenticationSubscription) -> Subscriber {
    let [first, _] = halves(&keys.k);
    let credentials = match keys.algorithm {
        SimAlgorithm::Milenage => {
            let [opc, _] = halves(&keys.opc);
            Credentials::milenage(K::new(first), Opc::new(opc))
        }
        SimAlgorithm::Tuak128 => {
            Credentials::tuak(TuakKey::K128(K::new(first)), Topc::new(keys.opc))
        }
        SimAlgorithm::Tuak256 => {
            Credentials::tuak(TuakKey::K256(K256::new(keys.k)), Topc::new(keys.opc))
        }
    };
    Subscriber::new(&credentials)
}

fn halves(octets: &[u8; 32]) -> [[u8; 16]; 2] {
    [0, 16].map(|from| std::array::from_fn(|at| octets[from + at]))
}

/// Nudm_UEAuthentication_ResultConfirmation (TS 29.503, 5.4.2.3): how it ended is stored, with the AUSF's time, before
/// the AUSF tells anyone (TS 33.501, 6.1.4.1a).
pub(crate) async fn outcome(
    p: &Procedure<State>,
    outcome: AuthenticationOutcome,
) -> Result<Done, Problem> {
    let AuthenticationOutcome {
        supi,
        network,
        method,
        success,
        unix_s,
    } = outcome;
    let event = StoreAuthentication {
        supi,
        network,
        method,
        success,
        unix_s,
    };
    match p.call("9d", Some(supi), event).await {
        // A subscriber that was removed meanwhile has not proved who it is, all the same.
        Err(Problem::UserNotFound) if !success => Ok(Done::ALL),
        stored => stored,
    }
}

fn identify(p: &Procedure<State>, identity: &Identity) -> Result<Supi, Problem> {
    let suci = match identity.get() {
        Ok(supi) => return Ok(supi),
        Err(suci) => suci,
    };
    p.with(|state, _| {
        if suci.scheme == 0 && !state.null_scheme {
            return Err(Problem::IdentityUnreadable);
        }
        suci::deconceal(&suci, |id| state.home_keys.get(&id))
            .map_err(|_| Problem::IdentityUnreadable)
    })
}
