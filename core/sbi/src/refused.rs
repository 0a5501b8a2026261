//! What was refused, for operators: to whom, why in words, and what to do about it.

use std::fmt;

use sluice_ids::Supi;

/// A request of a UE or a gNB that was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Who asked, as far as that is known: a SUPI, a SUCI, a 5G-GUTI, a gNB.
    pub who: String,
    /// The subscriber, where the UE has proved to be its.
    pub supi: Option<Supi>,
    /// What was asked for, as the TS calls it.
    pub request: &'static str,
    /// What the UE or the gNB was told: a cause by number and name, or nothing.
    pub cause: String,
    /// Why.
    pub why: String,
    /// What an operator can do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Refused {
    /// `Registration of imsi-001010000000001 refused, #3 (illegal UE): WHY; REMEDY`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who,
            request,
            cause,
            why,
            remedy,
            ..
        } = self;
        write!(f, "{request} of {who} refused, {cause}: {why}; {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_who_why_and_what_to_do() {
        let refused = Refused {
            who: "imsi-001010000000001".to_owned(),
            supi: None,
            request: "Registration",
            cause: "#3 (illegal UE)".to_owned(),
            why: "no subscriber has this IMSI".to_owned(),
            remedy: "add the subscriber",
        };
        let line = "Registration of imsi-001010000000001 refused, #3 (illegal UE): no subscriber has \
                    this IMSI; add the subscriber";
        assert_eq!(refused.to_string(), line);
    }
}
