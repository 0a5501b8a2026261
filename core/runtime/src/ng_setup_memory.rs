//! NG interface of a gNB as its last NG Setup left it, so that the setup can be repeated to an AMF that has come in place
//! of another one (TS 38.413, 8.7.1 to 8.7.4).

use sluice_n2::{
    AmfConfigurationUpdate, Cause, FromAmf, FromRan, NgReset, NgSetupRequest, NgSetupResponse,
    RanConfigurationUpdate,
};

/// NGAP PDU that begins a procedure, succeeds, or fails: the first octet (TS 38.413, 9.4.3).
const BEGINS: u8 = 0x00;
const SUCCEEDS: u8 = 0x20;
const FAILS: u8 = 0x40;
/// Procedure codes: the second octet.
const AMF_CONFIGURATION_UPDATE: u8 = 0;
const NG_SETUP: u8 = 21;
const RAN_CONFIGURATION_UPDATE: u8 = 35;

/// Kind of an AMF's message, as the gNB sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// A message for the gNB.
    ForGnb,
    /// The answer to a repeated setup: the gNB gets these messages in its place.
    Repeated(Vec<Vec<u8>>),
    /// The AMF does not serve the gNB, which has to set up anew.
    Refused,
}

/// NG interface of a gNB.
#[derive(Default, Debug)]
pub(crate) struct NgSetupMemory {
    /// Setup that the AMF has not answered.
    asked: Option<NgSetupRequest>,
    /// The last setup that succeeded, with all later updates.
    admitted: Option<NgSetupRequest>,
    /// Update that the AMF has not answered.
    update: Option<RanConfigurationUpdate>,
    /// Configuration of the AMF, as the gNB knows it; none after an update of that.
    configuration: Option<NgSetupResponse>,
    /// A repeated setup has not been answered.
    is_repeated: bool,
}

impl NgSetupMemory {
    /// Whether a message is an NG Setup Request.
    pub fn is_setup(octets: &[u8]) -> bool {
        octets.starts_with(&[BEGINS, NG_SETUP])
    }

    /// A message of the gNB.
    pub fn take_from_gnb(&mut self, octets: &[u8]) {
        match octets {
            [BEGINS, NG_SETUP, ..] => {
                if let Ok(FromRan::NgSetupRequest(request)) = FromRan::decode(octets) {
                    self.asked = Some(request);
                }
            }
            [BEGINS, RAN_CONFIGURATION_UPDATE, ..] => {
                if let Ok(FromRan::RanConfigurationUpdate(update)) = FromRan::decode(octets) {
                    self.update = Some(update);
                }
            }
            _ => {}
        }
    }

    /// A message of the AMF.
    pub fn take_from_amf(&mut self, octets: &[u8]) -> Said {
        match octets {
            [SUCCEEDS, NG_SETUP, ..] => {
                if let Ok(FromAmf::NgSetupResponse(response)) = FromAmf::decode(octets) {
                    return self.is_set_up(response);
                }
            }
            [FAILS, NG_SETUP, ..] => {
                if std::mem::take(&mut self.is_repeated) {
                    return Said::Refused;
                }
                (self.asked, self.admitted) = (None, None);
            }
            [SUCCEEDS, RAN_CONFIGURATION_UPDATE, ..] => self.is_updated(),
            [FAILS, RAN_CONFIGURATION_UPDATE, ..] => self.update = None,
            [BEGINS, AMF_CONFIGURATION_UPDATE, ..] => self.configuration = None,
            _ => {}
        }
        Said::ForGnb
    }

    fn is_set_up(&mut self, response: NgSetupResponse) -> Said {
        let before = self.configuration.take();
        self.configuration = Some(NgSetupResponse {
            retains_ues: false,
            ..response.clone()
        });
        if !std::mem::take(&mut self.is_repeated) {
            self.admitted = self.asked.take();
            return Said::ForGnb;
        }
        let mut messages = Vec::new();
        if before != self.configuration {
            messages.push(update(&response).encode());
        }
        if !response.retains_ues {
            // UEs of before are unknown to the AMF: they come again.
            let reset = NgReset {
                cause: Cause::UNSPECIFIED,
                connections: None,
            };
            messages.push(FromAmf::NgReset(reset).encode());
        }
        Said::Repeated(messages)
    }

    fn is_updated(&mut self) {
        let Some((admitted, update)) = self.admitted.as_mut().zip(self.update.take()) else {
            return;
        };
        admitted.name = update.name.or(admitted.name.take());
        if let Some(areas) = update.areas {
            admitted.areas = areas;
        }
    }

    /// Another AMF has come: its first message from the gNB, if the gNB has set up NG or wants to.
    pub fn repeat(&mut self) -> Option<Vec<u8>> {
        self.update = None;
        // What was not answered is asked in the gNB's name, and answered to it.
        if let Some(asked) = &self.asked {
            self.is_repeated = false;
            return Some(FromRan::NgSetupRequest(asked.clone()).encode());
        }
        let admitted = self.admitted.as_ref()?;
        self.is_repeated = true;
        let request = NgSetupRequest {
            retains_ues: true,
            ..admitted.clone()
        };
        Some(FromRan::NgSetupRequest(request).encode())
    }
}

/// An AMF's configuration, as an update.
fn update(response: &NgSetupResponse) -> FromAmf {
    FromAmf::AmfConfigurationUpdate(AmfConfigurationUpdate {
        name: Some(response.name.clone()),
        guamis: Some(response.guamis.clone()),
        capacity: Some(response.capacity),
        plmns: Some(response.plmns.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::{AmfId, Guami, Plmn, Snssai, Tac};
    use sluice_n2::{Gnb, NgSetupFailure, PlmnSlices, SupportedArea};

    fn plmn() -> Plmn {
        Plmn::new("001", "01").expect("a PLMN")
    }

    fn slices() -> PlmnSlices {
        PlmnSlices {
            plmn: plmn(),
            slices: vec![Snssai::new(1, None)],
        }
    }

    fn area(tac: u8) -> SupportedArea {
        SupportedArea {
            tac: Tac([0, 0, tac]),
            plmns: vec![slices()],
        }
    }

    fn request(areas: Vec<SupportedArea>, retains_ues: bool) -> FromRan {
        FromRan::NgSetupRequest(NgSetupRequest {
            gnb: Gnb {
                plmn: plmn(),
                id: 5,
                bits: 32,
            },
            name: Some("gnb".to_owned()),
            areas,
            retains_ues,
        })
    }

    fn response(capacity: u8, retains_ues: bool) -> NgSetupResponse {
        NgSetupResponse {
            name: "amf".to_owned(),
            guamis: vec![Guami {
                plmn: plmn(),
                amf: AmfId::new(1, 1, 1).expect("an AMF"),
            }],
            capacity,
            plmns: vec![slices()],
            retains_ues,
        }
    }

    fn answer(capacity: u8, retains_ues: bool) -> Vec<u8> {
        FromAmf::NgSetupResponse(response(capacity, retains_ues)).encode()
    }

    fn set_up() -> NgSetupMemory {
        let mut memory = NgSetupMemory::default();
        memory.take_from_gnb(&request(vec![area(7)], false).encode());
        assert_eq!(memory.take_from_amf(&answer(255, false)), Said::ForGnb);
        memory
    }

    fn decoded(messages: Said) -> Vec<FromAmf> {
        let Said::Repeated(messages) = messages else {
            panic!("not the answer to a repeated setup: {messages:?}");
        };
        let decode = |octets: &Vec<u8>| FromAmf::decode(octets).expect("a message");
        messages.iter().map(decode).collect()
    }

    #[test]
    fn a_setup_is_repeated_with_all_updates_and_its_answer_kept_from_the_gnb() {
        let mut memory = set_up();
        let update = |tac| {
            FromRan::RanConfigurationUpdate(RanConfigurationUpdate {
                name: None,
                areas: Some(vec![area(tac)]),
            })
        };
        memory.take_from_gnb(&update(8).encode());
        let taken = FromAmf::RanConfigurationUpdateAcknowledge.encode();
        assert_eq!(memory.take_from_amf(&taken), Said::ForGnb);
        // One that the AMF did not answer is not in force.
        memory.take_from_gnb(&update(9).encode());
        assert_eq!(memory.repeat(), Some(request(vec![area(8)], true).encode()));
        assert_eq!(
            memory.take_from_amf(&answer(255, true)),
            Said::Repeated(Vec::new())
        );
        // The next answer is for the gNB again.
        assert_eq!(memory.take_from_amf(&answer(255, true)), Said::ForGnb);
    }

    #[test]
    fn a_gnb_hears_of_another_configuration_and_that_its_ues_are_unknown() {
        let mut memory = set_up();
        memory.repeat();
        let told = decoded(memory.take_from_amf(&answer(100, false)));
        assert!(
            matches!(&told[..], [FromAmf::AmfConfigurationUpdate(update), FromAmf::NgReset(reset)]
                if update.capacity == Some(100) && reset.connections.is_none()),
            "{told:?}"
        );
        // An update of the AMF passes; what the gNB made of it is not known.
        assert_eq!(
            memory.take_from_amf(&super::update(&response(50, false)).encode()),
            Said::ForGnb
        );
        memory.repeat();
        let told = decoded(memory.take_from_amf(&answer(100, true)));
        assert!(
            matches!(&told[..], [FromAmf::AmfConfigurationUpdate(_)]),
            "{told:?}"
        );
    }

    #[test]
    fn a_setup_without_an_answer_is_asked_again_and_answered_to_the_gnb() {
        let mut memory = NgSetupMemory::default();
        assert_eq!(memory.repeat(), None);
        let asked = request(vec![area(7)], false).encode();
        memory.take_from_gnb(&asked);
        assert_eq!(memory.repeat(), Some(asked));
        assert_eq!(memory.take_from_amf(&answer(255, false)), Said::ForGnb);
        assert_eq!(memory.repeat(), Some(request(vec![area(7)], true).encode()));
    }

    #[test]
    fn a_gnb_that_is_served_no_more_has_to_set_up_anew() {
        let failure = FromAmf::NgSetupFailure(NgSetupFailure {
            cause: Cause::UNKNOWN_PLMN,
        })
        .encode();
        let mut memory = set_up();
        memory.repeat();
        assert_eq!(memory.take_from_amf(&failure), Said::Refused);
        let mut memory = set_up();
        memory.take_from_gnb(&request(vec![area(7)], false).encode());
        assert_eq!(memory.take_from_amf(&failure), Said::ForGnb);
        assert_eq!(memory.repeat(), None);
    }

    #[test]
    fn what_cannot_be_read_passes_and_changes_nothing() {
        let mut memory = set_up();
        for octets in [&[][..], &[BEGINS], &[BEGINS, NG_SETUP], &[FAILS, 7, 1]] {
            memory.take_from_gnb(octets);
        }
        for octets in [&[][..], &[SUCCEEDS], &[SUCCEEDS, NG_SETUP, 0]] {
            assert_eq!(memory.take_from_amf(octets), Said::ForGnb);
        }
        assert!(memory.repeat().is_some());
    }
}
