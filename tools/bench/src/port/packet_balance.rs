//! Packet balance of a measurement.

use super::peer::Count;
use sluice_datapath::ledger::Ledger;

/// What became of all packets: of the path's, and of the plain loop's.
#[derive(Clone, Debug, Default)]
pub struct PacketBalance {
    /// The path's, as the far end counted.
    pub path: Count,
    /// As the path counted.
    pub ledger: Ledger,
    /// The plain loop's.
    pub io: Count,
    /// Packets that the plain loop found no room for.
    pub io_unsent: u64,
}

impl PacketBalance {
    /// Path's packets lost before it, within it, behind it; and the plain loop's.
    pub fn lost(&self) -> [u64; 4] {
        let Ledger {
            received,
            transmitted,
            ..
        } = self.ledger;
        [
            self.path.sent.saturating_sub(received),
            received.saturating_sub(transmitted),
            transmitted.saturating_sub(self.path.returned),
            self.io.sent.saturating_sub(self.io.returned),
        ]
    }

    /// Why the packets are not what they should be, if so.
    pub fn fault(&self) -> Option<String> {
        let wrong = [&self.path, &self.io].into_iter().find(|c| c.wrong > 0);
        if let Some(Count {
            wrong,
            compared,
            first_wrong,
            ..
        }) = wrong
        {
            let first = first_wrong.as_deref().unwrap_or_default();
            return Some(format!("{wrong} of {compared} packets are wrong; {first}"));
        }
        (!self.ledger.balances()).then(|| format!("the ledger does not balance: {}", self.ledger))
    }
}

/// Packets that have come to their end.
pub fn ended(ledger: &Ledger) -> u64 {
    ledger.transmitted + ledger.dropped_total()
}

/// What a ledger says of the time since another.
pub fn since(before: &Ledger, now: &Ledger) -> Ledger {
    let dropped = now.dropped.iter().map(|(reason, n)| {
        let before = before.dropped_for(*reason);
        (*reason, n - before)
    });
    Ledger {
        received: now.received - before.received,
        created: now.created - before.created,
        transmitted: now.transmitted - before.transmitted,
        to_control: now.to_control - before.to_control,
        merged: now.merged - before.merged,
        held: now.held.wrapping_sub(before.held),
        dropped: dropped.filter(|(_, n)| *n > 0).collect(),
    }
}
