//! Beginning of a program: its functions know what they have to of those of others, as AMF and SMF their sessions, and the
//! UDR the UEs of the AMF.

use super::Program;
use crate::parts::news::{Comparison, Presence, Settings, imsis, supis};
use sluice_core_runtime::system;
use sluice_wiring::{Mobility, Sessions};

/// Questions of the core that this program has had its part in, by their numbers.
#[derive(Default)]
pub(super) struct Compared {
    /// The AMF has told what it knows.
    told: u64,
    /// The SMF has told what it does not know, or the AMF has heard of that.
    done: u64,
    /// The AMF has told its UEs, or the UDR has heard of them.
    ues: u64,
}

impl Program {
    /// Whether the functions know of each other what they have to, as far as it is for this program.
    pub(super) fn may_begin(&mut self, settings: &Settings) -> bool {
        let has_keys = !self.has_udm || self.host.functions.udm.is_some();
        self.compare(&settings.comparison) && self.resume_repository(&settings.presence) && has_keys
    }

    /// Has the UDR go on with the UEs that the AMF has, as far as it is for this program; whether that is done.
    fn resume_repository(&mut self, presence: &Presence) -> bool {
        let number = presence.number;
        let mut ues = || Mobility::from(&mut self.host).subscribers();
        match (self.gnbs.is_some(), &mut self.subscribers) {
            (_, None) if self.compared.ues >= number => true,
            (false, None) => true,
            (true, None) => {
                self.report.presence = Some(Presence {
                    number,
                    ues: Some(imsis(&ues())),
                    removed: None,
                });
                self.compared.ues = number;
                true
            }
            (true, Some(_)) if self.has_begun => true,
            (true, Some(subscribers)) => {
                let ues = ues();
                let removed = subscribers.resume(&mut self.host, self.guami, &ues);
                self.report.presence = Some(Presence {
                    number,
                    ues: None,
                    removed: Some(imsis(&removed)),
                });
                true
            }
            (false, Some(subscribers)) => {
                let Some(ues) = presence.ues.as_ref().filter(|_| self.compared.ues < number) else {
                    return self.compared.ues > 0;
                };
                let removed = subscribers.resume(&mut self.host, self.guami, &supis(ues));
                self.report.presence = Some(Presence {
                    number,
                    ues: None,
                    removed: Some(imsis(&removed)),
                });
                self.compared.ues = number;
                true
            }
        }
    }

    /// Has AMF and SMF know the same sessions, as far as it is for this program; whether that is done.
    fn compare(&mut self, comparison: &Comparison) -> bool {
        let number = comparison.number;
        let now = system::now();
        let (has_amf, has_smf) = (self.gnbs.is_some(), self.upfs.is_some());
        match (has_amf, has_smf) {
            (true, true) if !self.has_begun => {
                let known = Mobility::from(&mut self.host).known_sessions();
                let unknown = Sessions::from(&mut self.host).reconcile(now, &known);
                Mobility::from(&mut self.host).forget_sessions(now, &unknown);
                true
            }
            (false, true) if self.compared.done < number => {
                let Some(known) = &comparison.known else {
                    return false;
                };
                let known = known.iter().copied().collect();
                let unknown = Sessions::from(&mut self.host).reconcile(now, &known);
                self.tell_compared(number, None, Some(unknown));
                self.compared.done = number;
                true
            }
            (true, false) if self.compared.told < number => {
                let known = Mobility::from(&mut self.host).known_sessions();
                self.tell_compared(number, Some(known.into_iter().collect()), None);
                self.compared.told = number;
                false
            }
            (true, false) if self.compared.done < number => {
                let Some(unknown) = &comparison.unknown else {
                    return false;
                };
                Mobility::from(&mut self.host).forget_sessions(now, unknown);
                self.compared.done = number;
                true
            }
            // What is told to all before this program has joined has no number.
            _ => has_amf == has_smf || number > 0,
        }
    }

    fn tell_compared(
        &mut self,
        number: u64,
        known: Option<Vec<(u64, bool)>>,
        unknown: Option<Vec<u64>>,
    ) {
        self.report.compared = Some(Comparison {
            number,
            known,
            unknown,
        });
    }
}
