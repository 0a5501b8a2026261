//! Where UEs are, and what they may do (Nudm_UECM and Nudm_SDM of TS 29.503).

use sluice_ids::Supi;
use sluice_sbi::server::Procedure;
use sluice_sbi::{
    AccessAndMobility, ContextData, DeleteSdm, DeleteSmf, DeregisterAmf, DeregisterSmf, Done,
    GetAccessAndMobility, GetSessionManagement, GetSmfRegistration, GetSmfSelection,
    NotifyDeregistration, Problem, QueryAccessAndMobility, QueryContextData,
    QuerySessionManagement, QuerySmf, QuerySmfSelection, RegisterAmf, RegisterSmf, Removal,
    SdmData, SdmSubscribed, SessionManagement, SmfSelection, StoreAmf, StoreSdm, StoreSmf,
    StoredSmf, SubscribeSdm, UnsubscribeSdm,
};

use crate::State;

/// Nudm_UECM_Registration. Only where the UE is known to be: the repository compares with how it was authenticated
/// (TS 33.501, 6.1.4.1a). Another AMF that had the UE hears that it is gone (TS 23.502, 4.2.2.2.2, step 14d).
pub(crate) async fn register(p: &Procedure<State>, request: RegisterAmf) -> Result<Done, Problem> {
    let RegisterAmf {
        supi,
        guami,
        network,
        is_initial,
    } = request;
    let store = StoreAmf {
        supi,
        guami,
        registered: true,
        network,
    };
    let stored = p.call("14a", Some(supi), store).await?;
    if stored.had_amf && stored.before != guami {
        let removal = match is_initial {
            true => Removal::InitialRegistration,
            false => Removal::AreaChange,
        };
        let amf = stored.before;
        // The UE is registered, whether or not the notification leaves.
        let _ = p.tell(
            "14d",
            Some(supi),
            NotifyDeregistration { supi, removal, amf },
        );
    }
    Ok(Done::ALL)
}

/// Nudm_UECM_Deregistration.
pub(crate) async fn deregister(
    p: &Procedure<State>,
    request: DeregisterAmf,
) -> Result<Done, Problem> {
    let DeregisterAmf { supi, guami } = request;
    let store = StoreAmf {
        supi,
        guami,
        registered: false,
        network: guami.plmn.serving_network_name(),
    };
    p.call("14a", Some(supi), store).await?;
    Ok(Done::ALL)
}

/// Nudm_UECM_Get (TS 29.503, 5.3.2.5).
pub(crate) async fn known(p: &Procedure<State>, supi: Supi) -> Result<ContextData, Problem> {
    p.call("1", Some(supi), QueryContextData { supi }).await
}

/// Nudm_UECM_Get of an SMF registration (TS 29.503, 5.3.2.5.7).
pub(crate) async fn smf(
    p: &Procedure<State>,
    request: GetSmfRegistration,
) -> Result<StoredSmf, Problem> {
    let GetSmfRegistration { supi, session } = request;
    p.call("1", Some(supi), QuerySmf { supi, session }).await
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
