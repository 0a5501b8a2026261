//! Where UEs are, and what they may do (Nudm_UECM and Nudm_SDM of TS 29.503).

use sluice_sbi::server::Procedure;
use sluice_sbi::{
    AccessAndMobility, DeleteSdm, DeleteSmf, DeregisterAmf, DeregisterSmf, Done,
    GetAccessAndMobility, GetSessionManagement, GetSmfSelection, Problem, QueryAccessAndMobility,
    QuerySessionManagement, QuerySmfSelection, RegisterAmf, RegisterSmf, SdmData, SdmSubscribed,
    SessionManagement, SmfSelection, StoreAmf, StoreSdm, StoreSmf, SubscribeSdm, UnsubscribeSdm,
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

/// Nudm_UECM_Registration of an SMF (TS 29.503, 5.3.2.2.3).
pub(crate) async fn register_smf(
    p: &Procedure<State>,
    request: RegisterSmf,
) -> Result<Done, Problem> {
    let registration = request.registration;
    let supi = Some(registration.supi);
    p.call("16c", supi, StoreSmf { registration }).await
}

/// Nudm_UECM_Deregistration of an SMF (TS 29.503, 5.3.2.4.3).
pub(crate) async fn deregister_smf(
    p: &Procedure<State>,
    request: DeregisterSmf,
) -> Result<Done, Problem> {
    let DeregisterSmf { supi, session } = request;
    p.call("15", Some(supi), DeleteSmf { supi, session }).await
}

/// Nudm_SDM_Subscribe (TS 29.503, 5.2.2.3.2). Subscriptions are stored at the UDR, so that a UDM which begins anew has
/// them.
pub(crate) async fn subscribe(
    p: &Procedure<State>,
    request: SubscribeSdm,
) -> Result<SdmSubscribed, Problem> {
    let subscription = request.subscription;
    let step = match subscription.data {
        SdmData::AccessAndMobility => "14c",
        SdmData::SessionManagement => "4",
    };
    let store = StoreSdm { subscription };
    p.call(step, Some(subscription.supi), store).await?;
    let id = subscription.id().into();
    Ok(SdmSubscribed { id })
}

/// Nudm_SDM_Unsubscribe (TS 29.503, 5.2.2.4.2).
pub(crate) async fn unsubscribe(
    p: &Procedure<State>,
    request: UnsubscribeSdm,
) -> Result<Done, Problem> {
    let UnsubscribeSdm { supi, id } = request;
    p.call("14", Some(supi), DeleteSdm { supi, id }).await
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
