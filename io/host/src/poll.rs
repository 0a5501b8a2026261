//! epoll over many descriptors, an eventfd that wakes a waiting thread, and a timerfd that wakes it at a time.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};

/// Watches descriptors until one can be read.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    /// A poller that watches nothing.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        })
    }

    /// Reports `token` whenever `source` can be read, has failed or was hung up.
    pub fn add(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        Ok(epoll::add(
            &self.epoll,
            source,
            data,
            epoll::EventFlags::IN,
        )?)
    }

    /// Watches `source` no more. A closed descriptor is removed by itself.
    pub fn remove(&self, source: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Sleeps until something is ready or `timeout` is over (`None`: no limit), then puts the
    /// tokens of what is ready into `ready`, at most its capacity. A signal ends it early.
    pub fn wait(&self, ready: &mut Ready, timeout: Option<Duration>) -> io::Result<()> {
        ready.events.clear();
        let timeout = timeout.map(timespec);
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut ready.events),
            timeout.as_ref(),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Readable when something that it watches is.
impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Result of [`Poller::wait`].
pub struct Ready {
    events: Vec<epoll::Event>,
}

impl Ready {
    /// Room for `capacity` tokens per wait, at least one.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            events: Vec::with_capacity(capacity.max(1)),
        }
    }

    /// The tokens that are ready.
    pub fn tokens(&self) -> impl Iterator<Item = u64> + '_ {
        self.events.iter().map(|event| event.data.u64())
    }
}

/// Wakes whoever polls it; clones wake the same one.
#[derive(Clone, Debug)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    /// A waker that nobody has used.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { fd: Arc::new(fd) })
    }

    /// Makes the descriptor readable until [`Waker::clear`].
    pub fn wake(&self) {
        // The only failure is a full counter, and then it is readable already.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Takes all wake-ups that have come.
    pub fn clear(&self) {
        // Nothing to take is fine.
        let _ = rustix::io::read(&self.fd, &mut [0u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Wakes whoever polls it at a time.
#[derive(Debug)]
pub struct Alarm {
    fd: OwnedFd,
}

impl Alarm {
    /// One that is not set.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let fd = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { fd })
    }

    /// Makes the descriptor readable from then on, until it is set anew; never with `None`.
    pub fn set(&self, at: Option<Instant>) -> io::Result<()> {
        // No time at all would be never.
        let left = at.map(|at| at.saturating_duration_since(Instant::now()));
        let left = left.map(|left| left.max(Duration::from_nanos(1)));
        let spec = Itimerspec {
            it_interval: timespec(Duration::ZERO),
            it_value: timespec(left.unwrap_or_default()),
        };
        rustix::time::timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sleeps until `source` can be read, or `timeout` is over; says whether it can. A signal
/// ends it early.
pub fn wait_readable(source: impl AsFd, timeout: Duration) -> io::Result<bool> {
    wait_for(source.as_fd(), PollFlags::IN, timeout)
}

/// Sleeps until `source` can be written, or `timeout` is over; says whether it can. A signal
/// ends it early.
pub fn wait_writable(source: impl AsFd, timeout: Duration) -> io::Result<bool> {
    wait_for(source.as_fd(), PollFlags::OUT, timeout)
}

fn wait_for(source: BorrowedFd<'_>, flags: PollFlags, timeout: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(&source, flags)];
    match rustix::event::poll(&mut fds, Some(&timespec(timeout))) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec {
        tv_sec,
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waker_is_ready_until_cleared() {
        let poller = Poller::new().expect("epoll");
        let waker = Waker::new().expect("eventfd");
        poller.add(&waker, 7).expect("add");
        let mut ready = Ready::with_capacity(4);
        poller.wait(&mut ready, Some(Duration::ZERO)).expect("wait");
        assert_eq!(ready.tokens().count(), 0);
        waker.clone().wake();
        waker.wake();
        poller.wait(&mut ready, None).expect("wait");
        assert_eq!(ready.tokens().collect::<Vec<_>>(), [7]);
        waker.clear();
        poller
            .wait(&mut ready, Some(Duration::from_millis(1)))
            .expect("wait");
        assert_eq!(ready.tokens().count(), 0);
        poller.remove(&waker).expect("remove");
        waker.wake();
        poller.wait(&mut ready, Some(Duration::ZERO)).expect("wait");
        assert_eq!(ready.tokens().count(), 0);
    }

    #[test]
    fn an_alarm_rings_at_its_time_until_it_is_set_anew() {
        let alarm = Alarm::new().expect("timerfd");
        let is_rung = |within_ms| {
            let within = Duration::from_millis(within_ms);
            wait_readable(&alarm, within).expect("poll")
        };
        assert!(!is_rung(1));
        alarm.set(Some(Instant::now())).expect("set");
        assert!(is_rung(5_000));
        let later = Instant::now() + Duration::from_secs(3_600);
        alarm.set(Some(later)).expect("set");
        assert!(!is_rung(1));
        alarm.set(Some(Instant::now())).expect("set");
        alarm.set(None).expect("set");
        assert!(!is_rung(1));
    }

    #[test]
    fn waiting_ends_with_the_timeout() {
        let waker = Waker::new().expect("eventfd");
        assert!(!wait_readable(&waker, Duration::from_millis(2)).expect("poll"));
        assert!(wait_writable(&waker, Duration::from_secs(5)).expect("poll"));
    }
}
