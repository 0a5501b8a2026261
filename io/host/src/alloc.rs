//! The process's global allocator: the system's malloc, with large blocks on transparent huge
//! pages.
//!
//! A million sessions' rules are looked up at random. On pages of 4 KiB nearly every look-up misses
//! the TLB as well as the caches, and so waits twice; pages of 2 MiB leave one wait.

use std::alloc::{GlobalAlloc, Layout, System};

/// Size of a transparent huge page on x86-64, and on aarch64 with pages of 4 KiB.
const HUGE_PAGE: usize = 2 << 20;

/// Blocks from this size on are advised: fewer would hold no whole huge page for sure.
const ADVISED_FROM: usize = 2 * HUGE_PAGE;

/// Make it the `#[global_allocator]`. Memory is still touched only as it is used, two megabytes at
/// a time. Where the kernel has no huge pages to give, or shall not, pages stay small.
pub struct HugeAlloc;

// SAFETY: every block comes from `System` and goes back to it by the layout of its owner; advice
// changes how memory is backed, never what it holds.
unsafe impl GlobalAlloc for HugeAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are those of `System`, which gave the block.
        advised(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those of `System`, which gave the block.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Asks for huge pages where the block covers whole ones.
#[inline]
fn advised(block: *mut u8, size: usize) -> *mut u8 {
    if size >= ADVISED_FROM && !block.is_null() {
        advise(block, size);
    }
    block
}

#[cold]
fn advise(block: *mut u8, size: usize) {
    let address = block as usize;
    let first = address.next_multiple_of(HUGE_PAGE);
    let end = (address + size) / HUGE_PAGE * HUGE_PAGE;
    if first < end {
        // SAFETY: the range lies inside the block, which is ours; the advice keeps its contents.
        // A refusal changes nothing.
        unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_hold_what_is_written() {
        for size in [1, 4096, ADVISED_FROM - 1, ADVISED_FROM, 9 * HUGE_PAGE + 5] {
            let layout = Layout::from_size_align(size, 64).unwrap();
            // SAFETY: the layout is not of size zero; each byte lies inside the block, and the
            // block is given back by its layout at the time.
            unsafe {
                let block = HugeAlloc.alloc_zeroed(layout);
                assert!(!block.is_null());
                let last = block.add(size - 1);
                assert_eq!((*block, *last), (0, 0));
                *block = 7;
                let grown = HugeAlloc.realloc(block, layout, size * 2);
                assert_eq!(*grown, 7);
                *grown.add(size * 2 - 1) = 8;
                let layout = Layout::from_size_align(size * 2, 64).unwrap();
                HugeAlloc.dealloc(grown, layout);
            }
        }
    }

    #[test]
    fn large_blocks_lie_on_huge_pages_where_the_kernel_gives_them() {
        let modes = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if !modes.is_ok_and(|modes| !modes.contains("[never]")) {
            println!("skipped: the kernel gives no transparent huge pages");
            return;
        }
        let layout = Layout::from_size_align(64 << 20, 64).unwrap();
        // SAFETY: as above; all of the block is written.
        let (block, address) = unsafe {
            let block = HugeAlloc.alloc(layout);
            block.write_bytes(1, layout.size());
            (block, block as usize)
        };
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let flags = flags_of(&smaps, address + HUGE_PAGE).unwrap();
        assert!(flags.contains(" hg"), "advised: {flags}");
        // SAFETY: allocated with this very layout.
        unsafe { HugeAlloc.dealloc(block, layout) };
    }

    /// `VmFlags` of the mapping that holds an address.
    fn flags_of(smaps: &str, address: usize) -> Option<&str> {
        let mut inside = false;
        for line in smaps.lines() {
            let range = line.split(' ').next()?.split_once('-');
            let bound = |text| usize::from_str_radix(text, 16).ok();
            if let Some((from, to)) = range.and_then(|(a, b)| Some((bound(a)?, bound(b)?))) {
                inside = (from..to).contains(&address);
            }
            if inside && let Some(flags) = line.strip_prefix("VmFlags:") {
                return Some(flags);
            }
        }
        None
    }
}
