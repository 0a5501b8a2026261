//! The synchronisation primitives of this crate: the real ones, or loom's when
//! the crate is built with `--cfg loom`. Rings and publication use only these,
//! so that loom sees every access.

#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
    },
};

#[cfg(not(loom))]
mod real {
    pub(crate) use std::sync::{
        Arc, Mutex,
        atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
    };

    /// `core::cell::UnsafeCell` with loom's closure interface.
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// A value on cache lines of its own. Two lines, because the adjacent-line
/// prefetcher of x86 pulls lines in pairs.
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);
