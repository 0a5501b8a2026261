//! The UDM: who has sessions and subscriptions of a subscriber, and hears of its changes.

mod sessions;
mod subscriptions;
