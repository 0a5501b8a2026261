//! The session entry: all state of one direction of one session, in a cache line of 64 bytes.

use crate::ids::BlockId;
use crate::session::rule::{Body, Flags, Head};
use sluice_mem::zeroable_struct;

zeroable_struct! {
    /// One tunnel endpoint or one UE address. All zero is vacant.
    ///
    /// The line answers three questions at once: is this still the endpoint that the packet was
    /// placed for (`key`, `local`), may it come from there (`ue_ip`), and what happens to it.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C, align(64))]
    pub struct SessionEntry {
        /// TEID or UE IPv4 address in host order; 0 is vacant.
        pub key: u32,
        /// The UE's IPv4 address, where `FROM_UE` or `TO_UE` want it. 0 is not checked.
        pub ue_ip: u32,
        /// The rest of its name: the number of the tunnel's address, or of the network instance.
        pub local: u8,
        /// Always 0.
        pub spare: [u8; 3],
        /// Decisions; with `EXTENDED` only the entry's own bits count.
        pub head: Head,
        /// The rest; with `EXTENDED` `teid` is the number of the first block.
        pub body: Body,
    }
}

impl SessionEntry {
    /// The first extension block, if the rules stand there.
    #[inline]
    pub fn block(&self) -> Option<BlockId> {
        self.head
            .flags
            .has(Flags::EXTENDED)
            .then_some(BlockId(self.body.teid))
    }
}

const _: () = assert!(size_of::<SessionEntry>() == 64);
