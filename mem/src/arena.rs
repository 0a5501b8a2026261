//! Fixed-length tables in mapped memory.
//!
//! An arena lies in a memfd, on 2 MiB pages when enough of them are free,
//! otherwise on normal pages with advice for transparent huge pages. The memfd
//! is named `sluice-<name>`, which is how the table shows in `/proc/PID/maps`.
//! Under miri and loom it is plain heap memory.

use core::ptr::NonNull;
use core::{fmt, slice};
use std::io;

use crate::Zeroable;
use crate::map::Mapping;

/// What memory an arena got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// 2 MiB pages, reserved for it when it was made.
    HugePages,
    /// Normal pages, taken when first touched; the kernel may join them to huge
    /// ones (`transparent_hugepage/shmem_enabled` allows it).
    TransparentHugePages,
    /// Normal pages, taken when first touched, that stay 4 KiB.
    NormalPages,
    /// The heap (miri and loom only).
    Heap,
}

impl fmt::Display for Backing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HugePages => "2 MiB pages",
            Self::TransparentHugePages => "transparent huge pages",
            Self::NormalPages => "normal pages",
            Self::Heap => "heap",
        })
    }
}

/// Why an arena could not be made.
#[derive(Debug)]
pub enum ArenaError {
    /// The length is zero, or more than indices of 32 bits or the address space
    /// can tell apart.
    Length {
        /// The length asked for, in elements.
        elements: usize,
    },
    /// The system gave no memory.
    Memory {
        /// How much was asked for.
        bytes: usize,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for ArenaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { elements } => {
                write!(
                    f,
                    "an arena cannot have {elements} elements (1 to 2^32 - 1, in memory)"
                )
            }
            Self::Memory { bytes, source } => {
                write!(f, "no memory for an arena of {bytes} bytes: {source}")
            }
        }
    }
}

impl std::error::Error for ArenaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Length { .. } => None,
            Self::Memory { source, .. } => Some(source),
        }
    }
}

/// A table of `T`, all zero at the start, aligned to 64 bytes or better.
/// Elements are never dropped.
pub struct Arena<T: Zeroable> {
    base: NonNull<T>,
    len: u32,
    mapping: Mapping,
}

impl<T: Zeroable> Arena<T> {
    /// Alignment of every mapping, and so the most that a type may ask for.
    const MAX_ALIGN: usize = 4096;

    /// Makes a table of `len` elements; `name` is for people.
    ///
    /// # Errors
    /// [`ArenaError`] if the length is out of range or there is no memory.
    pub fn new(name: &str, len: usize) -> Result<Self, ArenaError> {
        const {
            assert!(size_of::<T>() > 0, "an arena of nothing");
            assert!(align_of::<T>() <= Self::MAX_ALIGN, "alignment above a page");
            assert!(
                !core::mem::needs_drop::<T>(),
                "elements of an arena are never dropped"
            );
        }
        let length = ArenaError::Length { elements: len };
        let Ok(count) = u32::try_from(len) else {
            return Err(length);
        };
        let bytes = match len.checked_mul(size_of::<T>()) {
            Some(bytes) if bytes > 0 && bytes <= isize::MAX as usize / 2 => bytes,
            _ => return Err(length),
        };
        let mapping =
            Mapping::new(name, bytes).map_err(|source| ArenaError::Memory { bytes, source })?;
        Ok(Self {
            base: mapping.base().cast(),
            len: count,
            mapping,
        })
    }

    /// Number of elements.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Never true: an arena has at least one element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What memory it got.
    pub fn backing(&self) -> Backing {
        self.mapping.backing()
    }

    /// Memory that it takes when every element is in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.mapping.bytes()
    }

    /// Takes all pages now, so that none is taken on the packet path.
    ///
    /// # Errors
    /// What the system says, as a rule that memory is short.
    pub fn prefault(&mut self) -> io::Result<()> {
        self.mapping.prefault()
    }

    /// All elements.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the mapping holds len elements, all valid from the start (T
        // is Zeroable, the memory zeroed), and `&self` keeps writers away.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len as usize) }
    }

    /// All elements, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `&mut self` keeps everybody else away.
        unsafe { slice::from_raw_parts_mut(self.base.as_ptr(), self.len as usize) }
    }

    /// First element, for `shard`, which lends elements one by one.
    pub(crate) fn base(&self) -> NonNull<T> {
        self.base
    }
}

// SAFETY: the arena owns its elements as a Vec would.
unsafe impl<T: Zeroable + Send> Send for Arena<T> {}
// SAFETY: a shared arena only lends shared references.
unsafe impl<T: Zeroable + Sync> Sync for Arena<T> {}

impl<T: Zeroable> fmt::Debug for Arena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Arena({} x {} B on {})",
            self.len,
            size_of::<T>(),
            self.backing()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_start_at_zero_and_keep_what_is_written() {
        let mut arena: Arena<[u64; 8]> = Arena::new("test", 1000).unwrap();
        assert_eq!((arena.len(), arena.as_slice().len()), (1000, 1000));
        assert!(arena.as_slice().iter().all(|line| *line == [0; 8]));
        assert_eq!(arena.base().as_ptr().addr() % 64, 0);
        arena.as_mut_slice()[999] = [7; 8];
        assert_eq!(arena.as_slice()[999], [7; 8]);
        assert!(arena.bytes() >= 64_000);
    }

    #[test]
    fn prefaulting_keeps_the_contents() {
        let mut arena: Arena<u32> = Arena::new("test", 5000).unwrap();
        arena.as_mut_slice()[4999] = 3;
        arena.prefault().unwrap();
        assert_eq!(arena.as_slice()[4998..], [0, 3]);
    }

    #[test]
    fn lengths_that_no_index_can_tell_apart_are_refused() {
        for elements in [0, 1 << 32, usize::MAX] {
            let error = Arena::<u64>::new("test", elements).unwrap_err();
            assert!(matches!(error, ArenaError::Length { elements: e } if e == elements));
        }
    }

    #[test]
    #[cfg(not(any(miri, loom)))]
    fn memory_that_the_system_cannot_give_is_an_error() {
        let error = Arena::<[u64; 1 << 24]>::new("test", u32::MAX as usize).unwrap_err();
        assert!(matches!(error, ArenaError::Memory { .. }), "{error}");
    }

    #[test]
    #[cfg(not(any(miri, loom)))]
    fn the_table_shows_under_its_name_in_the_maps_of_the_process() {
        let arena: Arena<u64> = Arena::new("maps-test", 1).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.contains("memfd:sluice-maps-test"), "{arena:?}");
        drop(arena);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(
            !maps.contains("memfd:sluice-maps-test"),
            "the drop unmaps it"
        );
    }

    #[test]
    #[cfg(not(any(miri, loom)))]
    fn the_backing_told_is_the_one_that_the_kernel_shows() {
        let arena: Arena<u64> = Arena::new("smaps-test", 1 << 19).unwrap();
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let (_, ours) = smaps.split_once("memfd:sluice-smaps-test").unwrap();
        let page_size = ours
            .lines()
            .find_map(|line| line.strip_prefix("KernelPageSize:"));
        let huge = page_size.unwrap().trim() == "2048 kB";
        assert_eq!(arena.backing() == Backing::HugePages, huge, "{arena:?}");
    }
}
