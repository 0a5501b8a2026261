//! Kernel counters of a network interface.

use super::Link;
use crate::HostError;

/// Bytes and packets of an interface as the kernel counts them (`rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Bytes received.
    pub rx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets received with errors.
    pub rx_errors: u64,
    /// Received packets that the kernel dropped.
    pub rx_dropped: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets that failed in sending.
    pub tx_errors: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
}

impl Link {
    /// The kernel's counters.
    pub fn counters(&self) -> Result<LinkCounters, HostError> {
        // Not /sys/class/net: that shows the namespace in which /sys was mounted.
        let read = self
            .ns
            .run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))?;
        let table = read.map_err(HostError::os("read /proc/thread-self/net/dev"))?;
        counters_in(&table, self.name()).ok_or_else(|| HostError::NoSuchInterface {
            interface: self.name().to_owned(),
            namespace: self.ns.describe().to_owned(),
        })
    }

    /// Whether the interface is there.
    pub fn exists(&self) -> Result<bool, HostError> {
        match self.counters() {
            Ok(_) => Ok(true),
            Err(HostError::NoSuchInterface { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn counters_in(table: &str, name: &str) -> Option<LinkCounters> {
    let mut rows = table.lines().filter_map(|line| line.split_once(':'));
    let (_, row) = rows.find(|(interface, _)| interface.trim() == name)?;
    let fields: Result<Vec<u64>, _> = row.split_whitespace().map(str::parse).collect();
    let fields = fields.ok()?;
    // Eight columns of receive, then eight of transmit: bytes packets errs drop ...
    let [
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_dropped,
        _,
        _,
        _,
        _,
        tx @ ..,
    ] = fields.as_slice()
    else {
        return None;
    };
    let [tx_bytes, tx_packets, tx_errors, tx_dropped, ..] = tx else {
        return None;
    };
    Some(LinkCounters {
        rx_bytes: *rx_bytes,
        rx_packets: *rx_packets,
        rx_errors: *rx_errors,
        rx_dropped: *rx_dropped,
        tx_bytes: *tx_bytes,
        tx_packets: *tx_packets,
        tx_errors: *tx_errors,
        tx_dropped: *tx_dropped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_the_right_row_and_columns() {
        let table = "Inter-| Receive | Transmit\n face |bytes packets\n\
            lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  ue0:21 22 23 24 0 0 0 0 31 32 33 34 0 0 0 0\n";
        let counters = counters_in(table, "ue0").expect("row");
        assert_eq!((counters.rx_bytes, counters.rx_dropped), (21, 24));
        assert_eq!((counters.tx_bytes, counters.tx_packets), (31, 32));
        assert_eq!(counters_in(table, "ue"), None);
        assert_eq!(counters_in("ue0: 1 2", "ue0"), None);
    }
}
