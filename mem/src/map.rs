//! Zeroed memory from the system, given back on drop.

#[cfg(not(any(miri, loom)))]
pub(crate) use memfd::Mapping;

#[cfg(any(miri, loom))]
pub(crate) use heap::Mapping;

#[cfg(not(any(miri, loom)))]
mod memfd {
    use core::ptr::NonNull;
    use std::ffi::CString;
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    use crate::arena::Backing;

    const HUGE_PAGE: usize = 2 << 20;
    const PAGE: usize = 4096;

    /// A private name for a piece of shared memory; unmapped on drop.
    pub(crate) struct Mapping {
        base: NonNull<u8>,
        bytes: usize,
        backing: Backing,
    }

    impl Mapping {
        pub(crate) fn new(name: &str, bytes: usize) -> io::Result<Self> {
            Self::on_huge_pages(name, bytes).or_else(|_| Self::on_normal_pages(name, bytes))
        }

        /// Fails at once if there are not enough free huge pages: the kernel
        /// reserves them when they are mapped.
        fn on_huge_pages(name: &str, bytes: usize) -> io::Result<Self> {
            let bytes = round_up(bytes, HUGE_PAGE);
            let file = memfd(name, libc::MFD_HUGETLB | libc::MFD_HUGE_2MB, bytes)?;
            let base = map(&file, bytes)?;
            Ok(Self {
                base,
                bytes,
                backing: Backing::HugePages,
            })
        }

        fn on_normal_pages(name: &str, bytes: usize) -> io::Result<Self> {
            let bytes = round_up(bytes, PAGE);
            let file = memfd(name, 0, bytes)?;
            let base = map(&file, bytes)?;
            let mut mapping = Self {
                base,
                bytes,
                backing: Backing::NormalPages,
            };
            if mapping.advise(libc::MADV_HUGEPAGE).is_ok() && shared_memory_may_be_huge() {
                mapping.backing = Backing::TransparentHugePages;
            }
            Ok(mapping)
        }

        pub(crate) fn base(&self) -> NonNull<u8> {
            self.base
        }

        pub(crate) fn bytes(&self) -> usize {
            self.bytes
        }

        pub(crate) fn backing(&self) -> Backing {
            self.backing
        }

        pub(crate) fn prefault(&mut self) -> io::Result<()> {
            self.advise(libc::MADV_POPULATE_WRITE)
        }

        /// Only for advice that keeps the contents.
        fn advise(&mut self, advice: libc::c_int) -> io::Result<()> {
            // SAFETY: the range is exactly our mapping, and the callers' advice
            // changes how it is backed, not what it holds.
            let rc = unsafe { libc::madvise(self.base.as_ptr().cast(), self.bytes, advice) };
            if rc == 0 {
                Ok(())
            } else {
                Err(io::Error::last_os_error())
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the range is exactly what `map` got, and its owner is gone.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
        }
    }

    /// A memfd of `bytes` zero bytes; the mapping keeps the memory alive after
    /// the descriptor is closed.
    fn memfd(name: &str, flags: libc::c_uint, bytes: usize) -> io::Result<OwnedFd> {
        let name = CString::new(format!("sluice-{name}"))?;
        let size = libc::off_t::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the name is a C string that outlives the call.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: plain system call on a descriptor that we hold.
        if unsafe { libc::ftruncate(file.as_raw_fd(), size) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(file)
    }

    fn map(file: &OwnedFd, bytes: usize) -> io::Result<NonNull<u8>> {
        let (prot, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice touches no
        // existing memory.
        let base =
            unsafe { libc::mmap(core::ptr::null_mut(), bytes, prot, libc::MAP_SHARED, fd, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Whether the kernel heeds the advice for shared memory.
    fn shared_memory_may_be_huge() -> bool {
        std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
            .is_ok_and(|modes| !modes.contains("[never]") && !modes.contains("[deny]"))
    }

    fn round_up(bytes: usize, page: usize) -> usize {
        bytes.next_multiple_of(page)
    }
}

#[cfg(any(miri, loom))]
mod heap {
    use core::ptr::NonNull;
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::io;

    use crate::arena::Backing;

    /// Zeroed heap memory aligned to a page.
    pub(crate) struct Mapping {
        base: NonNull<u8>,
        layout: Layout,
    }

    impl Mapping {
        pub(crate) fn new(_name: &str, bytes: usize) -> io::Result<Self> {
            let layout = Layout::from_size_align(bytes.max(1), 4096)
                .map_err(|_| io::ErrorKind::InvalidInput)?;
            // SAFETY: the layout is not of size zero.
            let base = NonNull::new(unsafe { alloc_zeroed(layout) });
            Ok(Self {
                base: base.ok_or(io::ErrorKind::OutOfMemory)?,
                layout,
            })
        }

        pub(crate) fn base(&self) -> NonNull<u8> {
            self.base
        }

        pub(crate) fn bytes(&self) -> usize {
            self.layout.size()
        }

        pub(crate) fn backing(&self) -> Backing {
            Backing::Heap
        }

        pub(crate) fn prefault(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: allocated with this very layout, and its owner is gone.
            unsafe { dealloc(self.base.as_ptr(), self.layout) };
        }
    }
}
