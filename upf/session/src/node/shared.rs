//! State that the parts of the UP function share: configuration, associations, applications, names, session sets, load.
//!
//! A session's procedure reads it. What it writes is little, and said at each field: so that parts can have threads of
//! their own later, while one in front of them writes here.

use crate::config::Config;
use crate::flows::applications::Applications;
use crate::index::hash::Seeded;
use crate::names::Names;
use crate::node::associations::Associations;
use crate::pending::SessionRemarks;
use crate::reports::events::SessionEvent;
use crate::reports::load_control::LoadControl;
use crate::reports::path_reports::PathReports;
use crate::session_sets::SessionSets;
use sluice_n4::AssociationId;
use sluice_wire::pfcp::value::UpFunctionFeatures;
use std::collections::VecDeque;

/// Events that wait to be read; older ones are lost if nobody reads them.
const EVENTS: usize = 256;

/// State that all parts read.
pub struct Shared {
    /// As it was started with, and what of it was [reloaded](crate::UpFunction::reload).
    pub config: Config,
    /// Our features, as CP functions know them.
    pub features: UpFunctionFeatures,
    /// Names of network instances. A session that first names one adds it.
    pub names: Names,
    /// Flows by the Application ID of PDIs. A session that leaves one lets it go if nobody else needs it.
    pub applications: Applications,
    /// Names of session sets. A session that first names one adds it, and the last that leaves it lets it go.
    pub sets: SessionSets,
    /// This node's load, and who has been told of it: with the response of any session.
    pub load: LoadControl,
    /// Paths to tunnel peers, and who has been told of them.
    pub paths: PathReports,
    /// Memory of associations.
    pub associations: Associations,
    /// Sessions tell some as well, such as a report that failed.
    events: VecDeque<SessionEvent>,
}

impl Shared {
    /// Nothing yet, with places for so many associations.
    pub fn new(config: Config, features: UpFunctionFeatures, associations: usize) -> Self {
        Self {
            features,
            names: Names::default(),
            applications: Applications::new(&config.applications, Seeded(config.seed[0])),
            sets: SessionSets::new(Seeded::default()),
            load: LoadControl::new(config.load_control, associations),
            paths: PathReports::default(),
            associations: Associations::new(associations),
            events: VecDeque::with_capacity(EVENTS),
            config,
        }
    }

    /// Something for the operator's log.
    pub fn tell(&mut self, event: SessionEvent) {
        if self.events.len() >= EVENTS {
            // Somebody waits for the end of a query; there are a few at a time.
            let is_for_the_log = |event: &SessionEvent| !matches!(event, SessionEvent::Queried(_));
            if let Some(oldest) = self.events.iter().position(is_for_the_log) {
                self.events.remove(oldest);
            }
        }
        self.events.push_back(event);
    }

    /// The oldest event that was not read.
    pub fn next_event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// Tells the operator what was not told yet of how a CP function speaks, once for each association.
    #[inline]
    pub fn tell_remarks(&mut self, id: AssociationId, remarks: SessionRemarks) {
        if remarks != SessionRemarks::default() {
            self.tell_new(id, remarks);
        }
    }

    fn tell_new(&mut self, id: AssociationId, remarks: SessionRemarks) {
        let untold = self.associations.take_untold(id, remarks);
        if untold.chosen_by_cp {
            self.tell(SessionEvent::ChoosesTeids(id));
        }
        if untold.unserved_triggers {
            self.tell(SessionEvent::TriggersUnserved(id));
        }
    }
}
