//! The life of a session as its SMF leads it (TS 23.502, 4.3.2, 4.2.6, 4.9.1.2, 4.3.4), in the
//! steps of its dialect.

use super::subscribers::Subscriber;
use sluice_smf_emulator::dialect::profile::{BeforeGnb, Idle};
use sluice_smf_emulator::{Dialect, SessionChange, Tunnel};

/// Purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    Establish,
    /// Session Modification Request that brings the session one step on.
    Proceed,
    /// Session Modification Request that asks for usage.
    Query,
    Delete,
    Heartbeat,
}

/// A request on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestInfo {
    pub sequence: u32,
    /// Index of the subscriber.
    pub index: u32,
    pub act: Act,
}

/// How far a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionProgress {
    #[default]
    Absent,
    /// The gNB's tunnel is not known.
    Established,
    /// Packets flow both ways.
    Connected,
    /// The UE is idle; the rules are there.
    Idle,
    /// The UE is idle; the rules were removed.
    Bare,
}

impl Subscriber {
    /// Whether the UPF holds a tunnel to the gNB for it, or did before the UE went idle.
    pub fn has_gnb(&self) -> bool {
        matches!(
            self.state,
            SessionProgress::Connected | SessionProgress::Idle
        )
    }

    /// State after `act`, and the step of a modification.
    pub fn after(
        mut self,
        dialect: Dialect,
        act: Act,
        new_gnb: u8,
        tunnel: impl Fn(u8) -> Option<Tunnel>,
    ) -> (Self, Option<SessionChange>) {
        let step = match act {
            Act::Heartbeat => None,
            Act::Query => Some(SessionChange::Query),
            Act::Delete => {
                self = Self::default();
                None
            }
            Act::Establish => {
                self = Self {
                    state: SessionProgress::Established,
                    ..Self::default()
                };
                None
            }
            Act::Proceed => self.proceed(dialect, new_gnb, tunnel),
        };
        (self, step)
    }

    fn proceed(
        &mut self,
        dialect: Dialect,
        new_gnb: u8,
        tunnel: impl Fn(u8) -> Option<Tunnel>,
    ) -> Option<SessionChange> {
        let profile = dialect.profile();
        let removes = profile.change.idle == Idle::Remove;
        match self.state {
            SessionProgress::Absent => None,
            SessionProgress::Bare => {
                self.generation = self.generation.wrapping_add(1);
                self.state = SessionProgress::Established;
                Some(SessionChange::MakeUplink)
            }
            SessionProgress::Established | SessionProgress::Idle => {
                let end_marker_after = matches!(
                    profile.change.idle,
                    Idle::Buffer {
                        end_marker_after: true,
                        ..
                    }
                );
                let end_marker = self.state == SessionProgress::Idle && end_marker_after;
                (self.gnb, self.state) = (new_gnb, SessionProgress::Connected);
                tunnel(new_gnb).map(|gnb| SessionChange::Connect { gnb, end_marker })
            }
            // Another gNB, or the same: then the UE goes idle.
            SessionProgress::Connected if self.gnb != new_gnb && new_gnb.is_multiple_of(2) => {
                self.gnb = new_gnb;
                tunnel(new_gnb).map(|gnb| SessionChange::SwitchPath { gnb })
            }
            SessionProgress::Connected => {
                // A dialect numbers its rules anew each time; it has no endless supply here.
                let bare = removes && self.generation < u8::MAX;
                debug_assert!(!removes || profile.far.before_gnb == BeforeGnb::Absent);
                self.state = if bare {
                    SessionProgress::Bare
                } else {
                    SessionProgress::Idle
                };
                Some(if bare {
                    SessionChange::RemoveRules
                } else {
                    SessionChange::Buffer
                })
            }
        }
    }
}
