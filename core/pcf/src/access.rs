//! AM policy associations (Npcf_AMPolicyControl: TS 29.507): which RFSP index UEs have, for as long as an AMF has them.
//!
//! They end with the PCF's process: the AMF goes on by what it was told, and asks again at the next registration of a UE
//! that it has to ask for. A subscriber has one association, the last.

use std::collections::BTreeMap;

use sluice_ids::Supi;
use sluice_sbi::{AmPolicy, CreateAmPolicy, Message, Problem};

use crate::{Pcf, SESSIONS};

/// Of all UEs.
#[derive(Debug, Default)]
pub(crate) struct Associations {
    by_number: BTreeMap<u64, Supi>,
    by_supi: BTreeMap<Supi, u64>,
    last: u64,
}

impl Associations {
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// A new one, which replaces that of the subscriber; none if there are too many.
    fn begin(&mut self, supi: Supi) -> Option<u64> {
        if let Some(before) = self.by_supi.get(&supi).copied() {
            self.remove(before);
        }
        (self.len() < SESSIONS).then_some(())?;
        self.last += 1;
        self.by_number.insert(self.last, supi);
        self.by_supi.insert(supi, self.last);
        Some(self.last)
    }

    /// Npcf_AMPolicyControl_Delete (4.2.4). One that is not there is over already.
    pub fn remove(&mut self, number: u64) {
        if let Some(supi) = self.by_number.remove(&number) {
            self.by_supi.remove(&supi);
        }
    }
}

impl Pcf {
    /// Npcf_AMPolicyControl_Create (4.2.2).
    pub(crate) fn associate(&mut self, request: &CreateAmPolicy) -> Message {
        let Some(policy) = self.associations.begin(request.supi) else {
            self.counters.no_room += 1;
            return Problem::Overload.into();
        };
        AmPolicy {
            policy: policy.into(),
            rfsp: self.config.rfsp(&request.supi).into(),
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use sluice_ids::{AmfId, Guami, Plmn, Tac, Tai};
    use sluice_sbi::{DeleteAmPolicy, Slot};

    use crate::{AccessPolicy, Config, Subscribers};

    use super::*;

    fn pcf() -> Pcf {
        let access = |text: Option<&str>, rfsp| AccessPolicy {
            subscribers: text.and_then(Subscribers::new).into_iter().collect(),
            rfsp,
        };
        let all = [
            access(Some("001010000000001"), 7),
            access(Some("00101*"), 256),
        ];
        let config = Config {
            access_policies: all.to_vec(),
            ..Config::default()
        };
        Pcf::new(config).expect("indexes")
    }

    fn create(pcf: &mut Pcf, imsi: &str) -> (u64, u16) {
        let plmn = Plmn::new("001", "01").expect("digits");
        let amf = AmfId::new(1, 1, 1).expect("small");
        let tac = Tac([0, 0, 1]);
        let request = CreateAmPolicy {
            supi: Supi::from_imsi(imsi).expect("digits"),
            guami: Guami { plmn, amf },
            area: Tai { plmn, tac },
        };
        match pcf.associate(&request) {
            Message::AmPolicy(told) => (told.policy.get(), told.rfsp.get()),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_ue_has_the_index_of_the_first_policy_that_is_for_it() {
        let mut pcf = pcf();
        assert_eq!(create(&mut pcf, "001010000000001").1, 7);
        assert_eq!(create(&mut pcf, "001010000000002").1, 256);
        assert_eq!(create(&mut pcf, "999990000000001").1, 0);
        let access_policies = vec![AccessPolicy {
            subscribers: Vec::new(),
            rfsp: 257,
        }];
        let config = Config {
            access_policies,
            ..Config::default()
        };
        assert!(Pcf::new(config).is_err());
    }

    #[test]
    fn a_subscriber_has_one_association_whatever_comes_late() {
        let mut pcf = pcf();
        let (first, _) = create(&mut pcf, "001010000000001");
        let (second, _) = create(&mut pcf, "001010000000001");
        assert_ne!(first, second);
        assert_eq!(pcf.associations.len(), 1);
        let mut delete = |policy: u64| {
            let policy = policy.into();
            let id = sluice_sbi::RequestId {
                from: sluice_sbi::Nf::Amf.into(),
                call: sluice_sbi::CallId(sluice_sbi::Key {
                    slot: 1,
                    generation: 0,
                }),
            };
            pcf.request(id, &Slot::from(DeleteAmPolicy { policy }));
            pcf.associations.len()
        };
        // The end of the one before takes nothing from this one.
        assert_eq!([delete(first), delete(second), delete(second)], [1, 0, 0]);
    }
}
