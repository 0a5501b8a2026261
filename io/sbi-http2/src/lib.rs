//! Service-based interfaces over HTTP/2 (TS 29.500): the client and the server of one program, on a thread of their own.
//!
//! The program has one loop and waits on descriptors; [`Http`] is one of them. No service is known here: requests go out
//! and come in whole, with deadlines of TS 29.500. A peer is bounded in all that it can take ([`Limits`]), and one that
//! goes beyond does not harm others.
#![forbid(unsafe_code)]

mod client;
mod counters;
mod failure;
mod headers;
mod inbox;
mod limits;
mod parts;
mod peers;
mod server;
mod tls;
mod wire;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use sluice_services::{Request, Response};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

pub use counters::Counters;
pub use failure::{Failure, StartError};
pub use inbox::{Event, Peer};
pub use limits::Limits;
pub use sluice_sbi_keys::FileError;
pub use tls::{Sides, TlsFiles};

use counters::Tally;
use inbox::Inbox;
use parts::{Parts, Plan};

/// Name of the thread.
const THREAD: &str = "sbi";
/// Threads that look up names of hosts.
const LOOKUPS_MAX: usize = 2;

/// Service-based interfaces of a program.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address of the server.
    pub listen: SocketAddr,
    /// User-Agent of requests: the type of the network function, `AMF` (TS 29.500, 5.2.2.2).
    pub agent: String,
    /// Bounds.
    pub limits: Limits,
    /// TLS with certificates of both sides; without it everything is in the clear.
    pub tls: Option<TlsFiles>,
}

/// Client and server of one program.
pub struct Http {
    commands: Option<mpsc::UnboundedSender<Command>>,
    inbox: Arc<Inbox>,
    tally: Arc<Tally>,
    address: SocketAddr,
    calls: usize,
    calls_max: usize,
    thread: Option<JoinHandle<()>>,
}

/// Order to the thread.
enum Command {
    Call(client::Call),
    Answer(u64, Response),
}

impl Http {
    /// Binds the server's address and starts the thread.
    ///
    /// # Errors
    /// The address cannot be bound, a file of TLS cannot be used, or there is no room for a thread.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let listen = config.listen;
        let cannot_listen = |source| StartError::Listen { listen, source };
        let listener = TcpListener::bind(listen).map_err(cannot_listen)?;
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let (inbox, tally) = (Arc::new(Inbox::new()?), Arc::new(Tally::default()));
        let calls_max = config.limits.calls;
        let plan = Plan::new(config, Arc::clone(&inbox), Arc::clone(&tally))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(LOOKUPS_MAX)
            .thread_name(THREAD)
            .build()?;
        let (commands, orders) = mpsc::unbounded_channel();
        let thread = std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || run(runtime, listener, plan, orders))?;
        Ok(Self {
            commands: Some(commands),
            inbox,
            tally,
            address,
            calls: 0,
            calls_max,
            thread: Some(thread),
        })
    }

    /// Address of the server, with the port that the system chose if it was to choose one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request to an API root (`http://host:port`, `https://host`); [`Event::Response`] or [`Event::Failed`] with
    /// this `id` comes in any case, no later than `until`.
    pub fn call(&mut self, id: u64, root: &str, request: Request, until: Instant) {
        self.calls += 1;
        let call = client::Call {
            id,
            root: root.to_owned(),
            request,
            until,
        };
        if self.calls > self.calls_max {
            self.tally.calls_refused.add();
            let why = Failure::Busy;
            self.inbox.push(Event::Failed { id, why });
        } else {
            self.order(Command::Call(call));
        }
    }

    /// Answers a request that came. Nothing happens if it was abandoned.
    pub fn answer(&mut self, exchange: u64, response: Response) {
        self.order(Command::Answer(exchange, response));
    }

    /// Next event.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Event> {
        let event = self.inbox.take()?;
        if matches!(event, Event::Response { .. } | Event::Failed { .. }) {
            self.calls -= 1;
        }
        Some(event)
    }

    /// Whether nothing waits. Then whatever comes makes the descriptor readable, once.
    pub fn may_sleep(&mut self) -> bool {
        self.inbox.may_sleep()
    }

    /// Counters since the start.
    pub fn counters(&self) -> Counters {
        self.tally.read()
    }

    /// Why the files of TLS that are there now are not used; older ones still are.
    pub fn tls_trouble(&self) -> Option<String> {
        self.inbox.trouble()
    }

    fn order(&self, command: Command) {
        // The thread lives until the sender is dropped.
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
    }
}

/// Readable when something came after [`Http::may_sleep`].
impl AsFd for Http {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inbox.as_fd()
    }
}

/// Answers that were given still leave, other requests are told that the function ends, and connections close.
impl Drop for Http {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    runtime: Runtime,
    listener: TcpListener,
    plan: Plan,
    mut orders: mpsc::UnboundedReceiver<Command>,
) {
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, async move {
        let parts = Rc::new(Parts::from(plan));
        let accept = server::accept(listener, Rc::clone(&parts));
        let accept = tokio::task::spawn_local(accept);
        while let Some(order) = orders.recv().await {
            match order {
                Command::Call(call) => {
                    tokio::task::spawn_local(client::call(call, Rc::clone(&parts)));
                }
                Command::Answer(exchange, response) => parts.answers.give(exchange, response),
            }
        }
        accept.abort();
        parts.leave().await;
    });
    drop(tasks);
    runtime.shutdown_background();
}
