//! Waiting for packets without polling: receive interrupts and power monitor instructions.

use crate::error::Errno;
use crate::port::Port;
use crate::sys;

/// Waiting instructions of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuWaits {
    /// Sleep until a line of memory is written (UMWAIT and the like).
    pub monitor: bool,
    /// Sleep until a time (TPAUSE and the like).
    pub pause: bool,
}

impl CpuWaits {
    /// Of this machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        // SAFETY: it reads what the processor says of itself.
        let has = unsafe { sys::sdp_cpu_waits() };
        Self {
            monitor: has & sys::SDP_WAIT_MONITOR != 0,
            pause: has & sys::SDP_WAIT_PAUSE != 0,
        }
    }
}

impl Port {
    /// Whether the driver can interrupt when a packet comes to a queue. It is asked to, and asked
    /// not to again; the port is not set up for it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn has_rx_interrupt(&self, queue: u16) -> Result<(), Errno> {
        let _alone = self.alone();
        // SAFETY: the port exists; queues that it has not got are refused.
        Errno::check(unsafe { sys::sdp_rx_interrupt(self.number(), queue) }).map(drop)
    }

    /// Whether the driver tells which line of memory is written when a packet comes to a queue.
    ///
    /// # Errors
    /// What the driver says.
    pub fn has_monitor_address(&self, queue: u16) -> Result<(), Errno> {
        let _alone = self.alone();
        // SAFETY: the port exists; queues that it has not got are refused.
        Errno::check(unsafe { sys::sdp_monitor_address(self.number(), queue) }).map(drop)
    }
}
