//! Subscribers as the UDR knows them: for `sluice ctl`, HTTP and metrics.

use crate::operators::answers;
use crate::operators::request::{Request, subscriber};
use serde::{Deserialize, Serialize};
use sluice_sbi::AuthMethod;
use sluice_udr::{AuthEvent, Udr};

/// Knowledge of a UDR.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct UdrPart {
    /// Whether there is a subscriber of the IMSI that is asked for.
    pub is_subscriber: bool,
    /// How that was authenticated last.
    pub authentication: Option<answers::Authentication>,
    /// Whether the database answers; none if there is none.
    pub is_database_up: Option<bool>,
}

/// All that a question needs of a UDR.
pub(crate) fn part(request: &Request, udr: &Udr, is_database_up: Option<bool>) -> UdrPart {
    let mut part = UdrPart {
        is_database_up,
        ..UdrPart::default()
    };
    if let Request::Ue { imsi } = request
        && let Ok(supi) = subscriber(imsi)
    {
        part.is_subscriber = udr.sqn_of(&supi).is_some();
        part.authentication = udr.authentication_of(&supi).map(authentication);
    }
    part
}

/// How a subscriber was authenticated last.
fn authentication(event: &AuthEvent) -> answers::Authentication {
    answers::Authentication {
        success: event.success,
        method: match event.method {
            AuthMethod::FiveGAka => answers::AuthenticationMethod::FiveGAka,
            AuthMethod::EapAkaPrime => answers::AuthenticationMethod::EapAkaPrime,
        },
        serving_network: String::from_utf8_lossy(event.network.octets()).into_owned(),
        unix_s: event.unix_s,
    }
}
