//! Data of a whole subscriber from messages about parts of it: the UDM or the UDR is asked for each slice and data network.

use serde_json::Value;
use sluice_ids::{Dnn, Snssai, Supi};
use sluice_sbi::{
    AccessAndMobility, GetAccessAndMobility, GetSessionManagement, GetSmfSelection, Message, Nf,
    Problem, QueryAccessAndMobility, QuerySessionManagement, QuerySmfSelection, Slot,
};

use crate::calls::ask_each;
use crate::exchange::Producer;
use crate::names::Memory;
use crate::subscription::provisioned::{
    Session, access_json, nssai_json, selection_json, sessions_json,
};

/// Function that is asked.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// UDM: Nudm_SDM.
    Udm,
    /// UDR: Nudr_DR.
    Udr,
}

/// Goes on with data, or why there is none.
pub(crate) type Then = Box<dyn FnOnce(Result<Value, Problem>, &mut Memory) -> Producer + Send>;

impl Source {
    pub(super) fn nf(self) -> Nf {
        match self {
            Self::Udm => Nf::Udm,
            Self::Udr => Nf::Udr,
        }
    }

    fn access(self, supi: Supi) -> Slot {
        match self {
            Self::Udm => GetAccessAndMobility { supi }.into(),
            Self::Udr => QueryAccessAndMobility { supi }.into(),
        }
    }

    fn selection(self, supi: Supi, slice: Snssai) -> Slot {
        match self {
            Self::Udm => GetSmfSelection { supi, slice }.into(),
            Self::Udr => QuerySmfSelection { supi, slice }.into(),
        }
    }

    fn session(self, supi: Supi, slice: Snssai, dnn: Dnn) -> Slot {
        match self {
            Self::Udm => GetSessionManagement { supi, slice, dnn }.into(),
            Self::Udr => QuerySessionManagement { supi, slice, dnn }.into(),
        }
    }

    /// AccessAndMobilitySubscriptionData
    pub fn access_data(self, supi: Supi, then: Then) -> Producer {
        self.subscribed(supi, |access, memory| {
            then(access.map(|access| access_json(&access)), memory)
        })
    }

    /// Nssai
    pub fn nssai_data(self, supi: Supi, then: Then) -> Producer {
        self.subscribed(supi, |access, memory| {
            then(access.map(|access| nssai_json(&access)), memory)
        })
    }

    /// SmfSelectionSubscriptionData
    pub fn selection_data(self, supi: Supi, then: Then) -> Producer {
        self.subscribed(supi, move |access, memory| {
            let slices = match access {
                Ok(access) => slices_of(&access),
                Err(problem) => return then(Err(problem), memory),
            };
            self.selections(supi, slices, memory, |found, memory| {
                then(Ok(selection_json(&found)), memory)
            })
        })
    }

    /// SmSubsData of a slice or of all, and of a data network or of all.
    pub fn session_data(
        self,
        supi: Supi,
        (slice, dnn): (Option<Snssai>, Option<Dnn>),
        memory: &mut Memory,
        then: Then,
    ) -> Producer {
        if let (Some(slice), Some(dnn)) = (slice, dnn) {
            return self.sessions(supi, vec![(slice, dnn)], memory, then);
        }
        let of_slices = move |slices: Vec<Snssai>, memory: &mut Memory, then: Then| match dnn {
            Some(dnn) => {
                let wanted = slices.into_iter().map(|slice| (slice, dnn)).collect();
                self.sessions(supi, wanted, memory, then)
            }
            None => self.selections(supi, slices, memory, move |found, memory| {
                let names = found.iter().flat_map(|(slice, selection)| {
                    selection.names().iter().map(|dnn| (*slice, *dnn))
                });
                self.sessions(supi, names.collect(), memory, then)
            }),
        };
        match slice {
            Some(slice) => of_slices(vec![slice], memory, then),
            None => self.subscribed(supi, move |access, memory| match access {
                Ok(access) => of_slices(slices_of(&access), memory, then),
                Err(problem) => then(Err(problem), memory),
            }),
        }
    }

    fn subscribed(
        self,
        supi: Supi,
        then: impl FnOnce(Result<AccessAndMobility, Problem>, &mut Memory) -> Producer + Send + 'static,
    ) -> Producer {
        let on_answer = |answer: &Message, memory: &mut Memory| {
            then(answer.answer_to::<GetAccessAndMobility>(), memory)
        };
        Producer::Ask(self.nf(), self.access(supi), Box::new(on_answer))
    }

    fn selections(
        self,
        supi: Supi,
        slices: Vec<Snssai>,
        memory: &mut Memory,
        then: impl FnOnce(Vec<(Snssai, sluice_sbi::SmfSelection)>, &mut Memory) -> Producer
        + Send
        + 'static,
    ) -> Producer {
        let messages: Vec<Slot> = slices
            .iter()
            .map(|one| self.selection(supi, *one))
            .collect();
        let on_answers = |answers: Vec<Message>, memory: &mut Memory| {
            let found = slices.into_iter().zip(answers);
            let found = found.filter_map(|(slice, answer)| {
                Some((slice, answer.answer_to::<GetSmfSelection>().ok()?))
            });
            then(found.collect(), memory)
        };
        let messages = messages.into_iter();
        ask_each(
            self.nf(),
            messages,
            Vec::new(),
            memory,
            Box::new(on_answers),
        )
    }

    fn sessions(
        self,
        supi: Supi,
        wanted: Vec<(Snssai, Dnn)>,
        memory: &mut Memory,
        then: Then,
    ) -> Producer {
        let messages = wanted.iter();
        let messages: Vec<Slot> = messages
            .map(|(slice, dnn)| self.session(supi, *slice, *dnn))
            .collect();
        let on_answers = |answers: Vec<Message>, memory: &mut Memory| {
            let mut problem = Problem::DnnNotSupported;
            let mut found: Vec<Session> = Vec::new();
            for ((slice, dnn), answer) in wanted.into_iter().zip(answers) {
                match answer.answer_to::<GetSessionManagement>() {
                    Ok(session) => found.push((slice, dnn, session)),
                    Err(why) => problem = why,
                }
            }
            let is_there = !found.is_empty();
            let data = is_there.then(|| sessions_json(&found)).ok_or(problem);
            then(data, memory)
        };
        let messages = messages.into_iter();
        ask_each(
            self.nf(),
            messages,
            Vec::new(),
            memory,
            Box::new(on_answers),
        )
    }
}

fn slices_of(access: &AccessAndMobility) -> Vec<Snssai> {
    access.subscribed().map(|(slice, _)| slice).collect()
}
