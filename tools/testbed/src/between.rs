//! Two cores of a network, whose AMFs ask each other for UEs' contexts, as a carrier of services would have them do it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use sluice_amf::Config;
use sluice_bus::{Envelope, Event, Kind, Transport, Unsent};
use sluice_ids::{AmfId, Supi};
use sluice_sbi::{AuthMethod, Message, Nf, StoreAuthentication};
use sluice_ue::Ue;

use crate::network::{TestNetwork, config, core, plmn};
use crate::outside::Outside;

/// Way from an AMF to the one of before.
#[derive(Clone, Default)]
struct Way(Rc<RefCell<Messages>>);

#[derive(Default)]
struct Messages {
    asked: VecDeque<Envelope>,
    to_core: VecDeque<Event>,
}

impl Transport for Way {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        if !envelope.to.is_outside() || envelope.kind == Kind::Reply {
            return Err(Unsent::Unreachable(envelope));
        }
        self.0.borrow_mut().asked.push_back(envelope);
        Ok(())
    }

    fn flush(&mut self) {}

    fn receive(&mut self) -> Option<Event> {
        self.0.borrow_mut().to_core.pop_front()
    }

    fn may_sleep(&mut self) -> bool {
        self.0.borrow().to_core.is_empty()
    }
}

/// The core that UEs come from, and the one that they go to.
pub struct Two {
    pub old: TestNetwork,
    pub new: TestNetwork,
    /// Whoever asks the functions of the old core, and of the new one.
    pub at_old: Outside,
    pub at_new: Outside,
    way: Way,
    /// Messages between the AMFs, each with its answer; none where it was lost.
    pub said: Vec<(Message, Option<Message>)>,
    /// Changes an answer of the old AMF on its way; false loses it.
    pub change: fn(&mut Message) -> bool,
}

/// The AMF that UEs go to.
pub fn other_amf() -> Config {
    let mut other = config();
    other.guami.amf = AmfId::new(1, 1, 2).expect("small");
    other
}

impl Two {
    /// UEs are at this core, and go to one whose AMF is so.
    pub fn new(mut old: TestNetwork, new: Config) -> Self {
        let mut new = TestNetwork::of(core(new, true), &[]);
        new.set_up();
        let way = Way::default();
        new.core.connect(Box::new(way.clone()), &[]);
        Self {
            at_old: Outside::of(&mut old),
            at_new: Outside::of(&mut new),
            old,
            new,
            way,
            said: Vec::new(),
            change: |_| true,
        }
    }

    /// The home network, of which the new core has a copy, knows that the subscriber was authenticated.
    pub fn was_authenticated(&mut self, supi: Supi) {
        let message = StoreAuthentication {
            supi,
            network: plmn().serving_network_name(),
            method: AuthMethod::FiveGAka,
            success: true,
            unix_s: self.new.now.unix_s.into(),
        };
        let told = self.at_new.ask(&mut self.new, Nf::Udr, message);
        assert_eq!(told, Some(sluice_sbi::Done::ALL.into()));
    }

    /// A UE of the old core is in the new one from now on; its number there.
    pub fn moves(&mut self, phone: usize, instead: Ue) -> usize {
        let ue = std::mem::replace(&mut self.old.ues[phone].ue, instead);
        self.new.ues.push(crate::network::TestUe { ue, at: None });
        self.new.ues.len() - 1
    }

    /// AMFs ask and answer until they have nothing more to say.
    pub fn carry(&mut self) {
        loop {
            self.new.core.send(self.new.now);
            let asked = self.way.0.borrow_mut().asked.pop_front();
            let Some(envelope) = asked else {
                return;
            };
            let message = *envelope.message;
            let answer = self.at_old.ask(&mut self.old, Nf::Amf, message);
            let mut answer = answer.expect("an answer at once");
            let is_carried = (self.change)(&mut answer);
            self.said.push((message, is_carried.then_some(answer)));
            if is_carried {
                let event = Event::Came(Envelope {
                    from: envelope.to,
                    to: envelope.from,
                    kind: Kind::Reply,
                    message: answer.into(),
                    ..envelope
                });
                self.way.0.borrow_mut().to_core.push_back(event);
            }
            self.new.core.receive(self.new.now);
            self.new.run();
        }
    }
}
