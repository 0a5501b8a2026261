//! Streams of server-sent events (HTML, 9.2): status, and a UE with its call flow, for pages that show what happens.
//!
//! A stream asks the core as any client does, and sends what is new. All streams of the status share one question a
//! second.

use super::route::{Own, Route};
use super::server::Server;
use crate::operators::request::{Ask, Request};
use axum::body::{Body, Bytes};
use http_body_util::channel::{Channel, Sender};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, OwnedSemaphorePermit};
use tokio::time::sleep;

/// Streams at one time.
pub(super) const STREAMS_MAX: usize = 24;
/// Between two looks at the status.
const STATUS_EVERY: Duration = Duration::from_secs(1);
/// Between two looks at a UE.
const UE_EVERY: Duration = Duration::from_millis(500);
/// After so long without news a comment is sent: it tells whether somebody still listens.
const QUIET: Duration = Duration::from_secs(10);
/// Events that wait for a slow reader.
const WAITING: usize = 4;
/// Lines of a call flow that are sent: the newest.
const FLOW_LINES: usize = 2000;

/// The newest status, for all streams.
#[derive(Default)]
pub(super) struct Recent(Mutex<Option<(Instant, Value)>>);

/// A stream of events.
pub(super) struct Stream {
    server: Arc<Server>,
    route: &'static Route,
    /// IMSI of the UE; empty for the status.
    imsi: String,
    /// Cookie of the browser that listens, if it is a browser's.
    cookie: Option<String>,
    /// Events that are still to come, if the stream ends by itself.
    left: Option<usize>,
    ue: Value,
    lines: Vec<Value>,
    _place: OwnedSemaphorePermit,
}

impl Stream {
    pub fn new(
        server: Arc<Server>,
        route: &'static Route,
        imsi: String,
        cookie: Option<String>,
        left: Option<usize>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            server,
            route,
            imsi,
            cookie,
            left,
            ue: Value::Null,
            lines: Vec::new(),
            _place: place,
        }
    }

    /// The body that browsers read.
    pub fn body(self, own: Own) -> Body {
        let (sender, body) = Channel::<Bytes>::new(WAITING);
        tokio::spawn(self.run(own, sender));
        Body::new(body)
    }

    async fn run(mut self, own: Own, mut sender: Sender<Bytes>) {
        let (every, mut sent) = match own {
            Own::UeEvents => (UE_EVERY, Instant::now()),
            _ => (STATUS_EVERY, Instant::now()),
        };
        while self.is_permitted() {
            let news = match own {
                Own::UeEvents => self.of_ue().await,
                _ => self.of_status().await,
            };
            let now = Instant::now();
            let mut text: String = news.iter().map(event).collect();
            if text.is_empty() && now - sent >= QUIET {
                ":\n\n".clone_into(&mut text);
            }
            if !text.is_empty() {
                sent = now;
                if sender.send_data(text.into()).await.is_err() {
                    return;
                }
            }
            if let Some(left) = &mut self.left {
                *left = left.saturating_sub(news.len());
                if *left == 0 {
                    return;
                }
            }
            sleep(every).await;
        }
    }

    /// Nobody reads on who has logged out.
    fn is_permitted(&self) -> bool {
        let Some(cookie) = &self.cookie else {
            return true;
        };
        self.server.is_logged_in(cookie)
    }

    async fn of_status(&self) -> Vec<(&'static str, Value)> {
        let status = self.server.recent_status(self.route).await;
        status
            .map(|status| ("status", status))
            .into_iter()
            .collect()
    }

    /// The UE if it has changed, and lines that are new. A UE that is not there is null.
    async fn of_ue(&mut self) -> Vec<(&'static str, Value)> {
        let mut news = Vec::new();
        let imsi = self.imsi.clone();
        let ask = Ask::Core(Request::Ue { imsi });
        if let Ok(answer) = self.server.ask(self.route, ask).await {
            let ue = json!({ "ue": answer.get("ue"), "why": answer.get("error") });
            if ue != self.ue {
                self.ue = ue.clone();
                news.push(("ue", ue));
            }
        }
        let imsi = self.imsi.clone();
        let ask = Ask::Core(Request::Flow { imsi });
        if let Ok(mut answer) = self.server.ask(self.route, ask).await
            && let Some(Value::Array(lines)) = answer.get_mut("lines").map(Value::take)
        {
            let new = self.new_lines(lines);
            news.extend(new.map(|new| ("flow", new)));
        }
        news
    }

    /// Lines after those that were sent; all of them where earlier ones are others now.
    fn new_lines(&mut self, mut lines: Vec<Value>) -> Option<Value> {
        let too_many = lines.len().saturating_sub(FLOW_LINES);
        lines.drain(..too_many);
        if lines == self.lines {
            return None;
        }
        let goes_on = lines.starts_with(&self.lines);
        let new = match goes_on {
            true => lines.get(self.lines.len()..).unwrap_or_default(),
            false => &lines[..],
        };
        let told = json!({ "restarts": !goes_on, "lines": new });
        self.lines = lines;
        Some(told)
    }
}

fn event((name, data): &(&'static str, Value)) -> String {
    // JSON has no line breaks of its own.
    format!("event: {name}\ndata: {data}\n\n")
}

impl Recent {
    /// The status, not older than a second; `ask` is only asked for a newer one.
    pub async fn get(&self, ask: impl Future<Output = Option<Value>>) -> Option<Value> {
        let mut kept = self.0.lock().await;
        let is_recent = |at: &Instant| at.elapsed() < STATUS_EVERY * 9 / 10;
        if let Some((at, value)) = &*kept
            && is_recent(at)
        {
            return Some(value.clone());
        }
        let value = ask.await?;
        *kept = Some((Instant::now(), value.clone()));
        Some(value)
    }
}
