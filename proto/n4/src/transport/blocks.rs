//! A pool of equal blocks that holds messages of any length as chains.
//!
//! Requests in flight end in any order; a chain frees exactly its own blocks, so one request
//! that nobody answers never keeps another one's memory.

/// Octets per block: most session requests need one or two.
const BLOCK_LEN: usize = 512;
const END: u32 = u32::MAX;

/// A message stored in [`Blocks`]; give it back with [`Blocks::free`].
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    first: u32,
    len: u32,
}

/// The pool. Its memory is taken once, in [`Blocks::new`].
#[derive(Debug)]
pub struct Blocks {
    bytes: Box<[[u8; BLOCK_LEN]]>,
    next: Box<[u32]>,
    first_free: u32,
    free: usize,
}

impl Blocks {
    /// A pool for `capacity` octets, rounded up to whole blocks.
    pub fn new(capacity: usize) -> Self {
        let count = capacity.div_ceil(BLOCK_LEN).min(END as usize - 1);
        let next = (1..=count as u32).map(|n| if n as usize == count { END } else { n });
        Self {
            bytes: vec![[0; BLOCK_LEN]; count].into_boxed_slice(),
            next: next.collect(),
            first_free: if count == 0 { END } else { 0 },
            free: count,
        }
    }

    /// Copies `message` in; `None` when too few blocks are free.
    pub fn store(&mut self, message: &[u8]) -> Option<Chain> {
        if message.len().div_ceil(BLOCK_LEN) > self.free {
            return None;
        }
        let first = if message.is_empty() {
            END
        } else {
            self.first_free
        };
        let mut last = END;
        for part in message.chunks(BLOCK_LEN) {
            last = self.first_free;
            let block = self.bytes.get_mut(last as usize)?;
            block.get_mut(..part.len())?.copy_from_slice(part);
            self.first_free = *self.next.get(last as usize)?;
            self.free -= 1;
        }
        if let Some(next) = self.next.get_mut(last as usize) {
            *next = END;
        }
        Some(Chain {
            first,
            len: message.len() as u32,
        })
    }

    /// The stored message: from the pool itself when it lies in one block, else gathered into
    /// `scratch`. `None` if `scratch` is shorter than the message.
    pub fn load<'a>(&'a self, chain: &Chain, scratch: &'a mut [u8]) -> Option<&'a [u8]> {
        let len = chain.len as usize;
        if len <= BLOCK_LEN {
            return self.bytes.get(chain.first as usize)?.get(..len);
        }
        let target = scratch.get_mut(..len)?;
        let mut block = chain.first;
        for part in target.chunks_mut(BLOCK_LEN) {
            let source = self.bytes.get(block as usize)?;
            part.copy_from_slice(source.get(..part.len())?);
            block = *self.next.get(block as usize)?;
        }
        Some(target)
    }

    /// Returns the blocks of `chain` to the pool.
    pub fn free(&mut self, chain: Chain) {
        let mut block = chain.first;
        while let Some(next) = self.next.get_mut(block as usize) {
            let following = *next;
            *next = self.first_free;
            self.first_free = block;
            self.free += 1;
            block = following;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_message_reads_back_and_every_block_comes_back(
            steps in prop::collection::vec((0usize..2500, any::<bool>()), 1..80)
        ) {
            let mut pool = Blocks::new(20 * BLOCK_LEN);
            let mut scratch = vec![0; 4096];
            let mut held: Vec<(Vec<u8>, Chain)> = Vec::new();
            for (step, (len, release)) in steps.into_iter().enumerate() {
                let message = vec![step as u8; len.max(1)];
                if let Some(chain) = pool.store(&message) {
                    held.push((message, chain));
                }
                if release && !held.is_empty() {
                    let (_, chain) = held.swap_remove(step % held.len());
                    pool.free(chain);
                }
                for (message, chain) in &held {
                    prop_assert_eq!(pool.load(chain, &mut scratch), Some(&message[..]));
                }
            }
            for (_, chain) in held {
                pool.free(chain);
            }
            prop_assert_eq!(pool.free, 20);
            prop_assert!(pool.store(&[1; 20 * BLOCK_LEN]).is_some());
        }
    }

    #[test]
    fn a_full_pool_refuses_and_keeps_what_it_has() {
        let mut pool = Blocks::new(2 * BLOCK_LEN);
        let kept = pool.store(&[9; 600]).expect("two blocks");
        assert_eq!(pool.store(&[1]), None);
        assert_eq!(pool.load(&kept, &mut [0; 600]), Some(&[9; 600][..]));
    }
}
