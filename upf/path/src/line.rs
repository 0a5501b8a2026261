//! The hot line: everything that one direction of one session needs, in 64 bytes.

use crate::rule::{Body, Flags, Head};
use sluice_mem::zeroable_struct;

zeroable_struct! {
    /// One tunnel endpoint or one UE address. All zero is vacant.
    ///
    /// The line answers three questions at once: is this still the endpoint that the packet was
    /// placed for (`key`), may it come from there (`src_ip`, `ue_ip`), and what happens to it.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C, align(64))]
    pub struct Line {
        /// TEID or UE IPv4 address in host order; 0 is vacant.
        pub key: u32,
        /// The UE's IPv4 address: inner source (uplink) must be it. 0 is not checked.
        pub ue_ip: u32,
        /// Outer source that is demanded where `CHECK_OUTER_SOURCE`.
        pub src_ip: u32,
        /// Decisions; with `EXTENDED` only the entry's own bits count.
        pub head: Head,
        /// The rest; with `EXTENDED` `teid` is the number of the first block.
        pub body: Body,
    }
}

impl Line {
    /// The first extension block, if the rules stand there.
    #[inline]
    pub fn block(&self) -> Option<u32> {
        self.head
            .flags
            .has(Flags::EXTENDED)
            .then_some(self.body.teid)
    }
}

const _: () = assert!(size_of::<Line>() == 64);
