//! Parts that tasks of the thread share, and the requests that wait for the program's answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use sluice_services::Response;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::Config;
use crate::client::Pool;
use crate::counters::Tally;
use crate::failure::StartError;
use crate::inbox::Inbox;
use crate::limits::Limits;
use crate::peers::Peers;
use crate::tls::Tls;

/// Time for connections to end with the thread, and how often it looks whether they have.
const LEAVE_WITHIN: Duration = Duration::from_millis(300);
const LEAVE_LOOK: Duration = Duration::from_millis(2);

/// Parts that the thread is started with.
pub(crate) struct Plan {
    limits: Limits,
    agent: HeaderValue,
    inbox: Arc<Inbox>,
    tally: Arc<Tally>,
    tls: Option<Tls>,
}

/// Parts that its tasks share.
pub(crate) struct Parts {
    pub(crate) limits: Limits,
    pub(crate) agent: HeaderValue,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) tls: Option<Tls>,
    pub(crate) peers: Rc<Peers>,
    pub(crate) answers: Answers,
    pub(crate) pool: Pool,
    /// The thread ends: connections are told so, and finish.
    pub(crate) leaving: watch::Sender<bool>,
}

impl Plan {
    pub(crate) fn new(
        config: Config,
        inbox: Arc<Inbox>,
        tally: Arc<Tally>,
    ) -> Result<Self, StartError> {
        let agent = HeaderValue::from_str(&config.agent);
        Ok(Self {
            limits: config.limits,
            agent: agent.map_err(|_| StartError::Agent(config.agent))?,
            inbox,
            tally,
            tls: config.tls.map(Tls::new).transpose()?,
        })
    }
}

impl From<Plan> for Parts {
    fn from(plan: Plan) -> Self {
        Self {
            limits: plan.limits,
            agent: plan.agent,
            inbox: plan.inbox,
            tally: plan.tally,
            tls: plan.tls,
            peers: Rc::new(Peers::new()),
            answers: Answers::default(),
            pool: Pool::default(),
            leaving: watch::Sender::new(false),
        }
    }
}

impl Parts {
    /// Has answers leave that were given, answers all other requests, and closes connections.
    pub(crate) async fn leave(&self) {
        self.leaving.send_replace(true);
        self.answers.end();
        let until = Instant::now() + LEAVE_WITHIN;
        while self.peers.connections() > 0 && Instant::now() < until {
            sleep(LEAVE_LOOK).await;
        }
    }
}

/// Requests that wait for the program's answers.
#[derive(Default)]
pub(crate) struct Answers {
    last: Cell<u64>,
    waiting: RefCell<HashMap<u64, oneshot::Sender<Response>>>,
}

impl Answers {
    /// Number of one more request, and where its answer comes; none if `most` wait.
    pub(crate) fn open(&self, most: usize) -> Option<(u64, oneshot::Receiver<Response>)> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.len() >= most {
            return None;
        }
        let exchange = self.last.get() + 1;
        self.last.set(exchange);
        let (give, answer) = oneshot::channel();
        waiting.insert(exchange, give);
        Some((exchange, answer))
    }

    pub(crate) fn give(&self, exchange: u64, response: Response) {
        if let Some(give) = self.waiting.borrow_mut().remove(&exchange) {
            // Whoever is not there any more is told by itself.
            let _ = give.send(response);
        }
    }

    /// Nobody answers any more.
    fn end(&self) {
        self.waiting.borrow_mut().clear();
    }

    /// Waits no more.
    pub(crate) fn close(&self, exchange: u64) {
        self.waiting.borrow_mut().remove(&exchange);
    }
}
