//! Where UEs are, and what they may do (Nudm_UECM and Nudm_SDM of TS 29.503).

use sluice_sbi::server::Procedure;
use sluice_sbi::{
    AccessAndMobility, DeregisterAmf, Done, GetAccessAndMobility, GetSessionManagement,
    GetSmfSelection, Problem, QueryAccessAndMobility, QuerySessionManagement, QuerySmfSelection,
    RegisterAmf, SessionManagement, SmfSelection, StoreAmf,
};

use crate::State;

/// Nudm_UECM_Registration. Only where the UE is known to be: the repository compares with how it was authenticated
/// (TS 33.501, 6.1.4.1a).
pub(crate) async fn register(p: &Procedure<State>, request: RegisterAmf) -> Result<Done, Problem> {
    let RegisterAmf {
        supi,
        guami,
        network,
    } = request;
    p.call(
        "14a",
        Some(supi),
        StoreAmf {
            supi,
            guami,
            registered: true,
            network,
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
            network: guami.plmn.serving_network_name(),
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

/// Nudm_SDM_Get of SMF selection.
pub(crate) async fn smf_selection(
    p: &Procedure<State>,
    request: GetSmfSelection,
) -> Result<SmfSelection, Problem> {
    let GetSmfSelection { supi, slice } = request;
    p.call("2", Some(supi), QuerySmfSelection { supi, slice })
        .await
}

/// Nudm_SDM_Get of session management.
pub(crate) async fn session_management(
    p: &Procedure<State>,
    request: GetSessionManagement,
) -> Result<SessionManagement, Problem> {
    let GetSessionManagement { supi, slice, dnn } = request;
    p.call("4", Some(supi), QuerySessionManagement { supi, slice, dnn })
        .await
}
