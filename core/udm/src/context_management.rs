//! Where UEs are, and what they may do (Nudm_UECM and Nudm_SDM of TS 29.503).

use sluice_sbi::server::Procedure;
use sluice_sbi::{
    AccessAndMobility, DeregisterAmf, Done, GetAccessAndMobility, Problem, QueryAccessAndMobility,
    RegisterAmf, StoreAmf,
};

use crate::State;

/// Nudm_UECM_Registration.
pub(crate) async fn register(p: &Procedure<State>, request: RegisterAmf) -> Result<Done, Problem> {
    let RegisterAmf { supi, guami } = request;
    p.call(
        "14a",
        Some(supi),
        StoreAmf {
            supi,
            guami,
            registered: true,
        },
    )
    .await
}

/// Nudm_UECM_Deregistration.
pub(crate) async fn deregister(
    p: &Procedure<State>,
    request: DeregisterAmf,
) -> Result<Done, Problem> {
    let DeregisterAmf { supi, guami } = request;
    p.call(
        "14a",
        Some(supi),
        StoreAmf {
            supi,
            guami,
            registered: false,
        },
    )
    .await
}

/// Nudm_SDM_Get of access and mobility.
pub(crate) async fn access_and_mobility(
    p: &Procedure<State>,
    request: GetAccessAndMobility,
) -> Result<AccessAndMobility, Problem> {
    let supi = request.supi;
    p.call("14b", Some(supi), QueryAccessAndMobility { supi })
        .await
}
