//! The EAL, DPDK's environment: initialised once per process.

mod arguments;
mod memory;

pub use memory::{Memory, free_huge_mib};

use std::ffi::{CString, c_char};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{EalError, Errno};
use crate::sys;

/// How DPDK is started.
#[derive(Clone, Debug, Default)]
pub struct EalConfig {
    /// Kind and amount of packet memory.
    pub memory: Memory,
    /// CPUs on which the calling thread stays, such as `0-3,8`. None: as it is now. Threads
    /// that are created later inherit them.
    pub main_cpus: Option<String>,
    /// PCI devices that DPDK may touch, such as `0000:03:00.0`, each with driver arguments if
    /// any. Empty: the PCI bus is not even looked at.
    pub pci_devices: Vec<String>,
    /// Lowest level of DPDK's messages on standard error.
    pub log_level: LogLevel,
}

/// The least important messages that DPDK and its drivers still write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Errors only.
    Error,
    /// Warnings and errors.
    #[default]
    Warning,
    /// Messages of normal operation.
    Notice,
    /// Everything that is not for DPDK's developers.
    Info,
    /// Everything.
    Debug,
}

/// DPDK is running. Clones are handles to the same; the last one to go shuts it down. Ports and
/// pools keep one, so the order in which things are dropped does not matter.
#[derive(Clone, Debug)]
pub struct Eal {
    running: Arc<Running>,
}

static TAKEN: AtomicBool = AtomicBool::new(false);

impl Eal {
    /// Starts DPDK on the calling thread, which becomes its main thread. Takes 0.1 to 0.3 s.
    ///
    /// # Errors
    /// See [`EalError`]. DPDK does not recover from a failed start: the process may not try
    /// again.
    pub fn init(config: &EalConfig) -> Result<Self, EalError> {
        let (pages, arguments) = arguments::build(config)?;
        let arguments = to_c(arguments)?;
        if TAKEN.swap(true, Ordering::AcqRel) {
            return Err(EalError::AlreadyInitialised);
        }
        start(&arguments)?;
        let huge_pages = pages.are_huge();
        let running = Running {
            control: Mutex::default(),
            huge_pages,
            ports: Mutex::default(),
            pools: Mutex::default(),
        };
        Ok(Self {
            running: Arc::new(running),
        })
    }

    /// Whether packet memory is on huge pages.
    #[must_use]
    pub fn huge_pages(&self) -> bool {
        self.running.huge_pages
    }

    /// The DPDK release, such as (22, 11).
    #[must_use]
    pub fn version() -> (u32, u32) {
        // SAFETY: returns a compile-time constant.
        let version = unsafe { sys::sdp_version() };
        (version / 100, version % 100)
    }

    /// Whether there is a driver for a device, by its device arguments or PCI address. The device is
    /// not touched, and need not be there.
    #[must_use]
    pub fn has_driver_for(&self, devargs: &str) -> bool {
        let _alone = self.control();
        // SAFETY: a C string, which is only read.
        CString::new(devargs)
            .is_ok_and(|text| unsafe { sys::sdp_device_has_driver(text.as_ptr()) == 1 })
    }

    /// DPDK's control functions are not made for several threads at once.
    pub(crate) fn control(&self) -> MutexGuard<'_, ()> {
        self.running
            .control
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a port for its only user; false if it has one.
    pub(crate) fn claim_port(&self, port: u16) -> bool {
        let mut ports = self
            .running
            .ports
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let free = !ports.contains(&port);
        if free {
            ports.push(port);
        }
        free
    }

    /// Gives a claimed port back.
    pub(crate) fn release_port(&self, port: u16) {
        let mut ports = self
            .running
            .ports
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        ports.retain(|claimed| *claimed != port);
    }

    /// Remembers a pool, so that the shutdown can see whether packets are still out.
    pub(crate) fn register_pool(&self, pool: NonNull<sys::rte_mempool>, packets: u32) {
        let mut pools = self
            .running
            .pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pools.push(RegisteredPool { pool, packets });
    }
}

/// Shut down when dropped.
#[derive(Debug)]
struct Running {
    huge_pages: bool,
    control: Mutex<()>,
    ports: Mutex<Vec<u16>>,
    pools: Mutex<Vec<RegisteredPool>>,
}

#[derive(Debug)]
struct RegisteredPool {
    pool: NonNull<sys::rte_mempool>,
    packets: u32,
}

// SAFETY: DPDK's pools may be used from any thread; here they are only counted.
unsafe impl Send for RegisteredPool {}

impl Drop for Running {
    /// Unmaps DPDK's memory, but only if no packet is left that points into it. A packet has no
    /// destructor, so one that was lost keeps the memory mapped until the process ends.
    fn drop(&mut self) {
        let pools = self.pools.get_mut().unwrap_or_else(PoisonError::into_inner);
        let all_home = pools.iter().all(|entry| {
            // SAFETY: pools live until the cleanup below.
            let available = unsafe { sys::rte_mempool_avail_count(entry.pool.as_ptr()) };
            available >= entry.packets
        });
        if all_home {
            // SAFETY: ports are closed and no packet is out: each port holds a handle of the EAL.
            unsafe { sys::rte_eal_cleanup() };
        }
    }
}

fn to_c(arguments: Vec<String>) -> Result<Vec<CString>, EalError> {
    let convert =
        |argument: String| CString::new(argument.as_str()).map_err(|_| EalError::NulByte(argument));
    arguments.into_iter().map(convert).collect()
}

fn start(arguments: &[CString]) -> Result<(), EalError> {
    // DPDK permutes the array and keeps copies of the strings.
    let mut argv: Vec<*mut c_char> = arguments.iter().map(|a| a.as_ptr().cast_mut()).collect();
    argv.push(std::ptr::null_mut());
    let argc = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
    // SAFETY: argv holds argc C strings and a final null; called once per process (TAKEN).
    let rc = unsafe { sys::sdp_eal_init(argc, argv.as_mut_ptr()) };
    if rc >= 0 {
        return Ok(());
    }
    let words: Vec<_> = arguments
        .iter()
        .skip(1)
        .map(|a| a.to_string_lossy())
        .collect();
    // SAFETY: reads a thread-local of DPDK.
    let errno = Errno(unsafe { sys::sdp_errno() });
    Err(EalError::Init {
        arguments: words.join(" "),
        errno,
    })
}
