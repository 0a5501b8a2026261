//! Whether a file system is memory, so that nothing of it is there after a restart of the machine.

use std::io;
use std::path::Path;

/// `f_type` of tmpfs and ramfs (statfs(2)).
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// Whether a path is on tmpfs or ramfs.
///
/// # Errors
/// The kernel's reason.
pub fn is_in_memory(path: &Path) -> io::Result<bool> {
    let kind = rustix::fs::statfs(path)?.f_type;
    // Its width and sign differ by architecture; 32 bits are told.
    let kind = (kind as u64) & 0xffff_ffff;
    Ok(kind == TMPFS || kind == RAMFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_memory_and_the_system_is_on_none() {
        assert!(is_in_memory(Path::new("/dev/shm")).expect("it is there"));
        assert!(!is_in_memory(Path::new("/proc")).expect("it is there"));
        assert!(is_in_memory(Path::new("/no/such/path")).is_err());
    }
}
