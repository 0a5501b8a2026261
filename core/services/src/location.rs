//! UserLocation (TS 29.571, 5.4.4.7): the tracking area in which a UE is.

use serde_json::{Value, json};
use sluice_ids::{Plmn, Tac, Tai};

use crate::body::optional;
use crate::exchange::Refusal;
use crate::values::{plmn_json, tai, tai_json};

/// Of a tracking area of NR. The cell is the AMF's to know: NrLocation must have one, which is ignored then.
pub(crate) fn location_json(area: Tai) -> Value {
    let cell = json!({ "plmnId": plmn_json(area.plmn), "nrCellId": "000000000" });
    json!({ "nrLocation": { "tai": tai_json(area), "ncgi": cell, "ignoreNcgi": true } })
}

/// Tracking area of whichever access in the member of this name; one without number where the location is not told.
///
/// # Errors
/// A response that refuses the request by the member's name.
pub(crate) fn area(body: &Value, member: &str, network: Plmn) -> Result<Tai, Refusal> {
    for access in [
        "nrLocation/tai",
        "eutraLocation/tai",
        "n3gaLocation/n3gppTai",
    ] {
        let found = optional(body, &format!("/{member}/{access}"), "a Tai", tai)?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Ok(nowhere(network))
}

/// Tracking area of a UE of which nothing is told.
pub(crate) fn nowhere(plmn: Plmn) -> Tai {
    let tac = Tac([0; 3]);
    Tai { plmn, tac }
}
