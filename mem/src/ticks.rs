//! The time stamp counter.

/// Ticks of a counter that runs at one rate on all cores: the time stamp counter on x86-64, the
/// virtual counter on aarch64, nanoseconds elsewhere. It says nothing of the time of day, and how
/// long a tick is has to be measured.
#[inline(always)]
pub fn now() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: RDTSC reads a counter that every x86-64 has, and touches no memory.
        #[allow(unused_unsafe)]
        unsafe {
            core::arch::x86_64::_rdtsc()
        }
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let ticks: u64;
        // SAFETY: user space may read CNTVCT_EL0, which touches neither memory, stack nor flags.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks,
                options(nomem, nostack, preserves_flags));
        }
        ticks
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    #[test]
    fn ticks_go_on_while_time_passes() {
        let before = super::now();
        std::thread::sleep(Duration::from_millis(2));
        // No counter is slower than 1 MHz.
        assert!(super::now() - before >= 2_000);
    }
}
