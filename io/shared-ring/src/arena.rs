//! Arena: shared memory that one program writes and another one reads, as words that are atomic for both.
//!
//! A peer may write behind our back whatever it likes: all that we read are integers, each copied once.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

/// Seals of an arena: its size stays, and nobody maps it writable but its owner, who has done so before.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::FUTURE_WRITE)
    .union(SealFlags::SEAL);

/// Words of shared memory, mapped as long as this lives.
pub struct Words {
    base: NonNull<AtomicU64>,
    count: usize,
}

// SAFETY: the mapping is this value's own, and all access to it is atomic.
unsafe impl Send for Words {}

impl Words {
    fn map(file: BorrowedFd<'_>, count: usize, protection: ProtFlags) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                count * size_of::<AtomicU64>(),
                protection,
                MapFlags::SHARED,
                file,
                0,
            )?
        };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, count })
    }

    /// The words. Those of a peer's arena may be read, and are never written: it is mapped read-only.
    pub fn get(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `count` words, is page-aligned, lives as long as `self`, cannot shrink (sealed), and
        // all bit patterns are valid.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        let octets = self.count * size_of::<AtomicU64>();
        // SAFETY: the range is exactly our mapping, and nobody borrows it any more.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), octets) };
    }
}

/// An arena of ours: writable here, and nowhere else.
pub struct Own {
    /// Words of the arena.
    pub words: Words,
    file: OwnedFd,
}

impl Own {
    /// Of `count` words, all zero.
    ///
    /// # Errors
    /// The kernel has no memory or no more descriptors.
    pub fn new(count: usize) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("sluice-bus", flags)?;
        rustix::fs::ftruncate(&file, (count * size_of::<AtomicU64>()) as u64)?;
        let words = Words::map(file.as_fd(), count, ProtFlags::READ | ProtFlags::WRITE)?;
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        Ok(Self { words, file })
    }

    /// The descriptor, for the program that reads it.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Maps the arena of a peer for reading.
///
/// # Errors
/// The arena has not `count` words, is not sealed, or cannot be mapped.
pub fn peer(file: OwnedFd, count: usize) -> io::Result<Words> {
    let seals = rustix::fs::fcntl_get_seals(&file)?;
    if !seals.contains(SEALS) {
        return Err(io::Error::other("an arena that is not sealed"));
    }
    let file = File::from(file);
    let octets = file.metadata()?.len();
    if octets != (count * size_of::<AtomicU64>()) as u64 {
        return Err(io::Error::other(format!("an arena of {octets} octets")));
    }
    Words::map(file.as_fd(), count, ProtFlags::READ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_peer_reads_what_the_owner_writes_and_maps_nothing_for_writing() {
        let own = Own::new(512).expect("memory");
        let file = || own.file().try_clone_to_owned().expect("a descriptor");
        let read = peer(file(), 512).expect("sealed");
        own.words.get()[511].store(7, Ordering::Release);
        assert_eq!(read.get()[511].load(Ordering::Acquire), 7);
        assert!(Words::map(file().as_fd(), 512, ProtFlags::READ | ProtFlags::WRITE).is_err());
        assert!(rustix::fs::ftruncate(file(), 8).is_err());
        assert!(peer(file(), 511).is_err());
    }

    #[test]
    fn an_arena_that_its_owner_could_shrink_is_not_mapped() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("unsealed", flags).expect("a descriptor");
        rustix::fs::ftruncate(&file, 4_096).expect("memory");
        assert!(peer(file, 512).is_err());
    }
}
