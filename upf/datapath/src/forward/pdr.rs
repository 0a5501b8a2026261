//! PDR: the matching rule of the endpoint, in order of precedence.

use crate::drop::DropReason;
use crate::ids::BlockId;
use crate::limits::{BLOCK_CHAIN, BLOCK_RULES};
use crate::meta::Meta;
use crate::session::rule::{ExtBlock, Flags, Head};
use core::num::NonZeroU32;

/// Where a rule of an extended line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At(NonZeroU32);

impl At {
    /// Rule `rule` of `block`. Block 0 is never used, so the number is not 0.
    pub fn new(block: BlockId, rule: usize) -> Option<Self> {
        let first = block.0.checked_mul(BLOCK_RULES as u32)?;
        NonZeroU32::new(first | (rule as u32 % BLOCK_RULES as u32)).map(Self)
    }

    /// Which block.
    #[inline]
    pub fn block(self) -> BlockId {
        BlockId(self.0.get() / BLOCK_RULES as u32)
    }

    /// Which rule of it.
    #[inline]
    pub fn rule(self) -> usize {
        self.0.get() as usize % BLOCK_RULES
    }
}

/// A line's only rule.
#[inline(always)]
pub fn only(head: Head, meta: &Meta) -> Result<(), DropReason> {
    if matches(head, meta.qfi) {
        Ok(())
    } else {
        Err(DropReason::NoPdr)
    }
}

/// The first rule of a chain that matches. `block` reads an extension block that the worker owns.
#[cold]
pub fn first<'a>(
    chain: BlockId,
    meta: &Meta,
    block: impl Fn(BlockId) -> Option<&'a ExtBlock>,
) -> Result<At, DropReason> {
    let mut number = chain;
    for _ in 0..BLOCK_CHAIN {
        // An endpoint whose PDRs match no packet of the path has a chain without blocks.
        if number == BlockId(0) {
            break;
        }
        let b = block(number).ok_or(DropReason::Internal)?;
        let mut rules = b.rules.iter().take(b.rules_len as usize);
        if let Some(rule) = rules.position(|r| matches(r.head, meta.qfi)) {
            return At::new(number, rule).ok_or(DropReason::Internal);
        }
        number = b.next;
    }
    Err(DropReason::NoPdr)
}

#[inline(always)]
fn matches(head: Head, qfi: u8) -> bool {
    !head.flags.has(Flags::MATCH_QFI) || head.qfi_match == qfi
}
