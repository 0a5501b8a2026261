//! AM Policy Association Establishment (TS 23.502, 4.16.1; TS 29.507, 4.2.2).

use sluice_ids::Supi;
use sluice_n2::Rfsp;
use sluice_sbi::CreateAmPolicy;

use crate::context::ue::AmPolicyAssociation;
use crate::procedure::Procedure;

/// Asks the PCF how the UE is to be treated, once. Without a PCF, or an answer, the UE is registered all the same, and
/// the PCF is asked again at the next registration.
pub(crate) async fn establish(p: &Procedure, supi: Supi) {
    let area = p.with_connection(|connection| connection.location.tai);
    let is_known = p.with_ue(|ue| ue.policy.is_some());
    let Some(area) = area.filter(|_| !is_known) else {
        return;
    };
    let guami = p.with(|state| state.config.guami);
    let request = CreateAmPolicy { supi, guami, area };
    if let Ok(answer) = p.call("16", request).await {
        p.with_ue(|ue| {
            ue.policy = Some(AmPolicyAssociation {
                policy: answer.policy.get(),
                rfsp: Rfsp::new(answer.rfsp.get()),
            });
        });
    }
}
