//! Port statistics and link state.

use sluice_port::{LinkState, PortStats};

use super::Port;
use crate::error::{PortError, PortStep};
use crate::sys;

impl Port {
    /// The counters that all drivers have; what a driver does not count stays 0.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn stats(&self) -> Result<PortStats, PortError> {
        let mut stats = sys::rte_eth_stats::default();
        // SAFETY: the port exists; `stats` is a place to write to.
        let rc = unsafe { sys::rte_eth_stats_get(self.number(), &mut stats) };
        self.attached.check(PortStep::Statistics, rc)?;
        Ok(PortStats {
            rx_packets: stats.ipackets,
            tx_packets: stats.opackets,
            rx_bytes: stats.ibytes,
            tx_bytes: stats.obytes,
            rx_missed: stats.imissed + self.attached.sockets.dropped(),
            rx_errors: stats.ierrors,
            tx_errors: stats.oerrors,
            rx_no_buffer: stats.rx_nombuf,
        })
    }

    /// All counters of the driver, by name.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn extended_stats(&self) -> Result<Vec<(String, u64)>, PortError> {
        let number = self.number();
        let _alone = self.attached.pool.eal().control();
        // SAFETY: with no room given, DPDK only returns the number of counters.
        let count = unsafe { sys::rte_eth_xstats_get_names(number, std::ptr::null_mut(), 0) };
        let count = self.attached.check(PortStep::Statistics, count)?;
        let room = usize::try_from(count).unwrap_or(0);
        let size = u32::try_from(room).unwrap_or(0);
        let mut names = vec![sys::rte_eth_xstat_name::default(); room];
        let mut values = vec![sys::rte_eth_xstat::default(); room];
        // SAFETY: both arrays have `size` places.
        let (named, valued) = unsafe {
            (
                sys::rte_eth_xstats_get_names(number, names.as_mut_ptr(), size),
                sys::rte_eth_xstats_get(number, values.as_mut_ptr(), size),
            )
        };
        self.attached.check(PortStep::Statistics, named)?;
        self.attached.check(PortStep::Statistics, valued)?;
        // A value names its counter by index; the set may have changed in between.
        let value = |v: &sys::rte_eth_xstat| {
            let name = names.get(usize::try_from(v.id).ok()?)?;
            Some((sys::text(&name.name), v.value))
        };
        let valued = usize::try_from(valued).unwrap_or(0).min(room);
        Ok(values.iter().take(valued).filter_map(value).collect())
    }

    /// The link now.
    ///
    /// # Errors
    /// When the driver does not tell.
    pub fn link(&self) -> Result<LinkState, PortError> {
        // SAFETY: the port exists.
        let up = unsafe { sys::sdp_port_link_is_up(self.number()) };
        let up = self.attached.check(PortStep::Link, up)?;
        Ok(if up == 1 {
            LinkState::Up
        } else {
            LinkState::Down
        })
    }
}
