//! PDR: which rule of the endpoint the packet matches, in order of precedence.

use crate::drop::DropReason;
use crate::limits::BLOCK_CHAIN;
use crate::meta::Meta;
use crate::rule::{Block, Flags, Head};

/// Where a rule of an extended line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Which block.
    pub block: u32,
    /// Which rule of it.
    pub rule: u8,
}

/// A line's only rule.
#[inline]
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
    chain: u32,
    meta: &Meta,
    block: impl Fn(u32) -> Option<&'a Block>,
) -> Result<At, DropReason> {
    let mut number = chain;
    for _ in 0..BLOCK_CHAIN {
        let b = block(number).ok_or(DropReason::NoPdr)?;
        let mut rules = b.rules.iter().take(b.rules_len as usize);
        if let Some(rule) = rules.position(|r| matches(r.head, meta.qfi)) {
            return Ok(At {
                block: number,
                rule: rule as u8,
            });
        }
        if b.next == 0 {
            break;
        }
        number = b.next;
    }
    Err(DropReason::NoPdr)
}

#[inline]
fn matches(head: Head, qfi: u8) -> bool {
    !head.flags.has(Flags::MATCH_QFI) || head.qfi_match == qfi
}
