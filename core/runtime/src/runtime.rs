//! The loop of a core: its functions on one thread, joined with SCTP towards gNBs and UDP towards
//! UPFs.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use sluice_host::poll::{Poller, Ready, Waker};
use sluice_sbi::{CallFlow, Instant};
use sluice_sctp::AllowList;
use sluice_sctp::front::FrontNews;
use sluice_wiring::Core;

use crate::load::Load;
use crate::n2::N2;
use crate::n4::N4;
use crate::system;

const N2_CAME: u64 = 0;
const N4_CAME: u64 = 1;
const WOKEN: u64 = 2;

/// A core and its doors.
pub struct Runtime {
    core: Core,
    n2: Option<N2>,
    n4: Option<N4>,
    poller: Poller,
    ready: Ready,
    waker: Waker,
    load: Load,
}

impl Runtime {
    /// Of its parts; N2 and N4 are those of its own AMF and SMF.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn new(core: Core, n2: Option<N2>, n4: Option<N4>) -> io::Result<Self> {
        let (poller, waker) = (Poller::new()?, Waker::new()?);
        if let Some(n2) = &n2 {
            poller.add(n2, N2_CAME)?;
        }
        if let Some(n4) = &n4 {
            poller.add(n4, N4_CAME)?;
        }
        poller.add(&waker, WOKEN)?;
        Ok(Self {
            core,
            n2,
            n4,
            poller,
            ready: Ready::with_capacity(8),
            waker,
            load: Load::default(),
        })
    }

    /// The core, for operators.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The core, for operators; what it then wants sent leaves with the next [`Runtime::turn`].
    pub fn core_mut(&mut self) -> &mut Core {
        &mut self.core
    }

    /// Towards gNBs, if its AMF is its own.
    pub fn n2(&self) -> Option<&N2> {
        self.n2.as_ref()
    }

    /// Towards UPFs, if there are any.
    pub fn n4(&self) -> Option<&N4> {
        self.n4.as_ref()
    }

    /// The same, to change its ways to UPFs.
    pub fn n4_mut(&mut self) -> Option<&mut N4> {
        self.n4.as_mut()
    }

    /// Has `source` end a wait of [`Runtime::turn`] whenever it can be read; whoever reads it is the
    /// caller's choice.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn also_wait_for(&self, source: impl AsFd) -> io::Result<()> {
        self.poller.add(source, WOKEN)
    }

    /// Ends a wait of [`Runtime::turn`] from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// What was said since the last call.
    pub fn take_call_flow(&mut self) -> CallFlow {
        self.core.take_call_flow()
    }

    /// Waits for gNBs, UPFs, a deadline or a waker, at most `patience`, and does what is to be done.
    ///
    /// # Errors
    /// When the socket of SCTP fails.
    pub fn turn(&mut self, patience: Duration) -> io::Result<()> {
        // What operators have caused meanwhile.
        self.send();
        let of_n2 = self.n2.as_ref().map_or(Duration::MAX, N2::patience);
        let patience = patience.min(of_n2).min(self.until_deadline());
        // What other programs have sent meanwhile is not waited for.
        let patience = if self.core.may_sleep() {
            patience
        } else {
            Duration::ZERO
        };
        let before = system::now().instant;
        self.poller.wait(&mut self.ready, Some(patience))?;
        let slept_ns = system::now().instant.0.saturating_sub(before.0);
        self.waker.clear();
        // Each takes a bounded burst, so that neither keeps the other waiting.
        if let Some(n2) = &mut self.n2 {
            n2.turn(&mut self.core)?;
        }
        if let Some(n4) = &mut self.n4 {
            n4.turn(&mut self.core);
        }
        self.core.receive(system::now());
        let now = system::now();
        if self.core.next_deadline() <= now.instant {
            self.core.time(now);
        }
        if self.load.turn(now.instant, Duration::from_nanos(slept_ns)) {
            let overload = self.load.overload();
            self.core.mobility().feel_load(now, overload);
        }
        self.send();
        Ok(())
    }

    /// How much there is to do.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Whether gNBs are asked to keep UEs away when there is more to do than can be done.
    pub fn set_overload_automatic(&mut self, is_automatic: bool) {
        self.load.set_automatic(is_automatic);
        let overload = self.load.overload();
        self.core.mobility().feel_load(system::now(), overload);
    }

    fn until_deadline(&self) -> Duration {
        match self.core.next_deadline() {
            Instant::NEVER => Duration::MAX,
            until => {
                let now = system::now().instant;
                Duration::from_nanos(until.0.saturating_sub(now.0))
            }
        }
    }

    fn send(&mut self) {
        if let Some(n2) = &mut self.n2 {
            n2.send(&mut self.core);
        }
        if let Some(n4) = &mut self.n4 {
            n4.send(&mut self.core);
        }
        self.core.send(system::now());
    }

    /// gNBs that may speak to the core from now on; associations of others are aborted. How many those
    /// were.
    pub fn allow_gnbs(&mut self, allowed: AllowList) -> usize {
        let n2 = self.n2.as_mut();
        n2.map_or(0, |n2| n2.allow(&mut self.core, allowed))
    }

    /// Who wanted to speak on N2 since the last call, and is no gNB that may.
    pub fn take_strangers(&mut self) -> Vec<IpAddr> {
        let n2 = self.n2.as_mut();
        n2.map(N2::take_strangers).unwrap_or_default()
    }

    /// News of N2's front since the last call; none of a core without one.
    pub fn take_front_news(&mut self) -> Vec<FrontNews> {
        let n2 = self.n2.as_mut();
        n2.map(N2::take_front_news).unwrap_or_default()
    }

    /// Ends all associations with gNBs in order; they are gone when [`N2::gnbs`] has none any more.
    pub fn shut_down_n2(&mut self) {
        self.send();
        if let Some(n2) = &mut self.n2 {
            n2.shut_down();
        }
    }

    /// Aborts all associations with gNBs and closes; the core goes on alone.
    pub fn close(self) -> Core {
        if let Some(n2) = self.n2 {
            n2.close();
        }
        self.core
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Runtime")
    }
}
