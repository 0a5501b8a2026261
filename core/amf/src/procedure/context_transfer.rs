//! Context of a UE that comes from another AMF of the PLMN (TS 23.502, 4.2.2.2.2, steps 4 and 5; TS 33.501, 6.9.3): with these
//! keys the UE is neither asked who it is nor authenticated.

use sluice_ids::Guti;
use sluice_n1::{
    Envelope, MobileIdentity, RegistrationKind, RegistrationRequest, SecurityContext, Side, Uplink,
};
use sluice_sbi::{Container, MovedKeys, TransferReason, TransferUeContext, UeContext};
use sluice_security::{Ciphering, Integrity, Kamf, NasCount, NasKeys, SecurityCapability};

use crate::context::ue::{Brought, Security};
use crate::procedure::Procedure;
use crate::procedure::registration;
use crate::procedure::security_mode::{self, NewKeys, Origin};
use crate::refusal::Refusal;

/// Keys of a UE as another AMF has told them, checked.
struct Keys {
    kamf: Kamf,
    is_derived: bool,
    ngksi: u8,
    algorithms: (Ciphering, Integrity),
    uplink: NasCount,
    downlink: NasCount,
    capability: SecurityCapability,
}

impl Keys {
    /// None if they make no sense.
    fn of(moved: &MovedKeys) -> Option<Self> {
        let ciphering = Ciphering::from_number(moved.ciphering)?;
        let integrity = Integrity::from_number(moved.integrity)?;
        Some(Self {
            kamf: Kamf::new(moved.kamf),
            is_derived: moved.is_derived,
            ngksi: Some(moved.ngksi).filter(|ngksi| *ngksi < sluice_n1::NO_KEY)?,
            algorithms: (ciphering, integrity),
            uplink: NasCount::new(moved.uplink.get())?,
            downlink: NasCount::new(moved.downlink.get())?,
            capability: SecurityCapability::from_octets(moved.capability())?,
        })
    }

    /// The other AMF's end of the keys, as it was before the UE's message; some tell the count after that.
    fn context(&self) -> SecurityContext {
        let (ciphering, integrity) = self.algorithms;
        let keys = NasKeys::new(&self.kamf, ciphering, integrity);
        let earliest = NasCount::new(self.uplink.get().saturating_sub(1));
        let next = Some(self.downlink);
        SecurityContext::resumed(Side::Network, self.ngksi, keys, next, earliest)
    }
}

/// Asks the AMF that has named the UE for its context, and goes on with the keys in it. False if there is none, or if it is of no
/// use: then the UE is asked who it is, as any other. The message is the whole one afterwards.
pub(crate) async fn run(
    p: &Procedure,
    message: &mut RegistrationRequest,
    nas: &[u8],
) -> Result<bool, Refusal> {
    let Some((guti, context)) = ask(p, message, nas).await else {
        return Ok(false);
    };
    p.with_ue(|ue| {
        ue.brought = Some(Brought {
            from: guti,
            sessions: context.sessions.bits(),
        });
    });
    let Some(keys) = context.keys.get().and_then(Keys::of) else {
        p.with(|state| state.give_back(p.ue));
        return Ok(false);
    };
    let capability = keys.capability;
    let is_used = match keys.is_derived {
        true => use_derived(p, keys, message).await?,
        false => go_on(p, keys, message, nas).await?,
    };
    if !is_used {
        p.with(|state| state.give_back(p.ue));
        return Ok(false);
    }
    p.with_ue(|ue| {
        ue.capability = Some(capability);
        ue.imeisv = ue.imeisv.or(context.device.get());
    });
    registration::take_over(p, context.supi);
    Ok(true)
}

/// 4 and 5: Namf_Communication_UEContextTransfer, of a UE that has keys and a name of another AMF of this network.
async fn ask(
    p: &Procedure,
    message: &RegistrationRequest,
    nas: &[u8],
) -> Option<(Guti, UeContext)> {
    let MobileIdentity::Guti(guti) = message.identity else {
        return None;
    };
    let is_of_other = p.with(|state| {
        let own = state.config.guami;
        let mut plmns = state.config.plmns.iter();
        guti.guami != own && plmns.any(|one| one.plmn == guti.guami.plmn)
    });
    if !is_of_other {
        return None;
    }
    let request = TransferUeContext {
        ue: guti.into(),
        reason: match message.kind {
            RegistrationKind::Initial | RegistrationKind::Emergency => {
                TransferReason::InitialRegistration
            }
            RegistrationKind::Mobility | RegistrationKind::Periodic => TransferReason::Mobility,
        },
        nas: Container::new(nas).filter(|nas| nas.get().is_some())?,
    };
    Some((guti, p.call("4", request).await.ok()?))
}

/// Goes on with the keys that the UE uses; with other algorithms, if these are better here. False if the UE's message is not
/// protected by these keys.
async fn go_on(
    p: &Procedure,
    keys: Keys,
    message: &mut RegistrationRequest,
    nas: &[u8],
) -> Result<bool, Refusal> {
    let mut context = keys.context();
    let count = match Envelope::open(nas) {
        Some(Envelope::Protected(protected)) => context.verify(&protected).map(|one| one.count),
        _ => None,
    };
    let Some(count) = count else {
        return Ok(false);
    };
    decipher(&context, count, message);
    let preference = p.with(|state| state.config.preference.clone());
    if preference.choose(&keys.capability) != Some(keys.algorithms) {
        let origin = Origin::Algorithms(context.next_sent(), context.next_received());
        let new = NewKeys {
            kamf: keys.kamf,
            ngksi: keys.ngksi,
            origin,
        };
        security_mode::run(p, new, keys.capability, false).await?;
        return Ok(true);
    }
    let security = Security {
        context,
        kamf: keys.kamf,
        last_uplink: count,
        chain: None,
        is_renewing: false,
        reserved: 0,
    };
    p.with_ue(|ue| ue.security = Some(security));
    p.with_connection(|connection| connection.is_secured = true);
    Ok(true)
}

/// The UE derives the same keys, and says once more what it had ciphered with those of before.
async fn use_derived(
    p: &Procedure,
    keys: Keys,
    message: &mut RegistrationRequest,
) -> Result<bool, Refusal> {
    let new = NewKeys {
        kamf: keys.kamf,
        ngksi: keys.ngksi,
        origin: Origin::Derivation,
    };
    if let Some(whole) = security_mode::run(p, new, keys.capability, true).await? {
        let kind = message.kind;
        *message = RegistrationRequest { kind, ..whole };
    }
    Ok(true)
}

/// The whole message, which the UE has sent ciphered inside of what may be shown.
fn decipher(context: &SecurityContext, count: NasCount, message: &mut RegistrationRequest) {
    let Some(mut container) = message.container.clone() else {
        return;
    };
    context.cipher_container(count, &mut container);
    if let Ok(Uplink::RegistrationRequest(whole)) = Uplink::decode(&container) {
        let kind = message.kind;
        *message = RegistrationRequest { kind, ..*whole };
    }
}
