//! EAP-AKA' (TS 33.501, 6.1.3.1): packets of the UE are answered until it has proved who it is, or not.

use sluice_ids::ServingNetworkName;
use sluice_sbi::server::Procedure;
use sluice_sbi::{
    AuthMethod, AuthResult, AuthenticationData, AuthenticationOutcome, Challenge, Container,
    EapOutcome, EapResponse, GetAuthenticationData, Now, Problem, Resynchronisation,
};
use sluice_security::eap::{Server, Verdict};
use sluice_security::{Auts, PrimeChallenge, Rand, kseaf};

use crate::{Exchange, Expected, Pending, State};

/// Resynchronisations within one authentication, as with 5G-AKA.
const RESYNCHRONISATIONS: usize = 2;

/// Identifier of the first request; each exchange is one of its own.
const FIRST: u8 = 1;

/// Steps 2 and 3: the challenge.
pub(crate) fn begin(
    p: &Procedure<State>,
    network: ServingNetworkName,
    vector: &AuthenticationData,
) -> Result<Challenge, Problem> {
    let server = server(FIRST, network, vector);
    let eap = Container::new(server.request()).ok_or(Problem::Protocol)?;
    let exchange = Box::new(Exchange {
        server,
        resynchronisations: 0,
    });
    let pending = Pending {
        supi: vector.supi,
        network,
        expected: Expected::EapAkaPrime(exchange),
    };
    let kept = |state: &mut State, now: Now| (state.keep(now.instant, pending), state.instance);
    let (context, instance) = p.with(kept);
    Ok(Challenge {
        context: context.into(),
        instance,
        method: AuthMethod::EapAkaPrime,
        rand: [0; 16],
        autn: [0; 16],
        hxres_star: [0; 16],
        eap,
    })
}

fn server(identifier: u8, network: ServingNetworkName, vector: &AuthenticationData) -> Server {
    let challenge = PrimeChallenge {
        rand: vector.rand,
        autn: vector.autn,
        xres: vector.xres,
        keys: vector.prime_keys.into(),
    };
    Server::new(identifier, &vector.supi, &network, &challenge)
}

/// Steps 7 to 10: a response of the UE.
pub(crate) async fn receive(
    p: &Procedure<State>,
    request: EapResponse,
) -> Result<EapOutcome, Problem> {
    let taken = p.with(|state, now| state.take(now.instant, request.context.get()));
    let Pending {
        supi,
        network,
        expected,
    } = taken.ok_or(Problem::ContextNotFound)?;
    let Expected::EapAkaPrime(mut exchange) = expected else {
        return Err(Problem::Protocol);
    };
    let packet = request.eap.get().unwrap_or_default();
    let (result, eap, kseaf) = match exchange.server.receive(packet) {
        Verdict::Success(eap, kausf) => {
            let key = *kseaf(&kausf, &network).octets();
            (AuthResult::Success, eap, key)
        }
        Verdict::Failure(eap) => (AuthResult::Failure, eap, [0; 32]),
        Verdict::Synchronise(rand, auts) => {
            match synchronise(p, &mut exchange, supi.into(), network, (rand, auts)).await? {
                Some(eap) => (AuthResult::Ongoing, eap, [0; 32]),
                None => (AuthResult::Failure, exchange.server.failure(), [0; 32]),
            }
        }
        Verdict::Ask(eap) => (AuthResult::Ongoing, eap, [0; 32]),
    };
    let eap = Container::new(&eap).ok_or(Problem::Protocol)?;
    let mut context = 0;
    if result == AuthResult::Ongoing {
        let expected = Expected::EapAkaPrime(exchange);
        let pending = Pending {
            supi,
            network,
            expected,
        };
        context = p.with(|state, now| state.keep(now.instant, pending));
    } else {
        let outcome = AuthenticationOutcome {
            supi,
            network,
            method: AuthMethod::EapAkaPrime,
            success: result == AuthResult::Success,
            unix_s: p.with(|_, now| now.unix_s).into(),
        };
        p.call("9d", Some(supi), outcome).await?;
    }
    Ok(EapOutcome {
        context: context.into(),
        result,
        supi,
        kseaf,
        eap,
    })
}

/// Another challenge, above what the SIM has taken; none if that was not its word, or once too often.
async fn synchronise(
    p: &Procedure<State>,
    exchange: &mut Exchange,
    identity: sluice_sbi::Identity,
    network: ServingNetworkName,
    (rand, auts): (Rand, Auts),
) -> Result<Option<Vec<u8>>, Problem> {
    if exchange.resynchronisations == RESYNCHRONISATIONS {
        return Ok(None);
    }
    exchange.resynchronisations += 1;
    let get = GetAuthenticationData {
        identity,
        network,
        resynchronisation: Resynchronisation {
            wanted: true,
            rand,
            auts,
        },
    };
    let vector = match p.call("9a", identity.get().ok(), get).await {
        Ok(vector) if vector.method == AuthMethod::EapAkaPrime => vector,
        // Its subscription has changed meanwhile: it registers anew.
        Ok(_) | Err(Problem::AuthenticationRejected) => return Ok(None),
        Err(problem) => return Err(problem),
    };
    exchange.server = server(exchange.server.next_identifier(), network, &vector);
    Ok(Some(exchange.server.request().to_vec()))
}
