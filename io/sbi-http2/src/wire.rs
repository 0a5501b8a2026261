//! Octets of a connection under HTTP/2: the first frames in one write, and when octets came or could not be written.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::PingPong;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep, timeout};

use crate::limits::Limits;

/// Connection under HTTP/2.
pub(crate) struct Wire<T> {
    inner: T,
    /// Octets that were read to see what is spoken, and are read again.
    head: Bytes,
    /// Octets that wait for the first flush: preface, SETTINGS and the first request, which some servers want at once.
    first: Option<Vec<u8>>,
    watch: Rc<Watch>,
}

/// When octets came, and since when none can be written.
pub(crate) struct Watch {
    last_read: Cell<Instant>,
    blocked_since: Cell<Option<Instant>>,
}

/// Streams of a connection: those that are open, and those that ever were.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    pub(crate) streams: usize,
    pub(crate) opened: u64,
}

impl Load {
    /// One stream more.
    pub(crate) fn open(self) -> Self {
        Self {
            streams: self.streams + 1,
            opened: self.opened + 1,
        }
    }

    /// One stream less.
    pub(crate) fn close(self) -> Self {
        Self {
            streams: self.streams - 1,
            ..self
        }
    }
}

/// Why a connection is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// No answer to a PING, or nothing could be written.
    Silent,
    /// Nothing to do.
    Idle,
}

impl<T> Wire<T> {
    /// Connection of which `head` was read already; `gather` holds the first octets back until they are flushed.
    pub(crate) fn new(inner: T, head: Bytes, gather: bool) -> Self {
        Self {
            inner,
            head,
            first: gather.then(Vec::new),
            watch: Rc::new(Watch {
                last_read: Cell::new(Instant::now()),
                blocked_since: Cell::new(None),
            }),
        }
    }

    pub(crate) fn watch(&self) -> Rc<Watch> {
        Rc::clone(&self.watch)
    }

    fn wrote(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let since = self.watch.blocked_since.get();
        let blocked = result
            .is_pending()
            .then(|| since.unwrap_or_else(Instant::now));
        self.watch.blocked_since.set(blocked);
        result
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Wire<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.head.is_empty() {
            let octets = self.head.len().min(into.remaining());
            into.put_slice(&self.head.split_to(octets));
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(cx, into);
        if into.filled().len() > before {
            self.watch.last_read.set(Instant::now());
        }
        result
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Wire<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = &mut self.first {
            first.extend_from_slice(octets);
            return Poll::Ready(Ok(octets.len()));
        }
        let result = Pin::new(&mut self.inner).poll_write(cx, octets);
        self.wrote(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = &mut self.first {
            parts.iter().for_each(|part| first.extend_from_slice(part));
            return Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()));
        }
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, parts);
        self.wrote(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(mut first) = self.first.take() {
            if first.is_empty() {
                break;
            }
            let result = Pin::new(&mut self.inner).poll_write(cx, &first);
            let result = self.wrote(result);
            if let Poll::Ready(Ok(octets)) = result {
                first.drain(..octets);
            }
            self.first = Some(first);
            if ready!(result)? == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl Watch {
    /// Ends when the connection is of no more use. `load` tells what it carries; PINGs go out while it has
    /// streams, or always (`pings_idle`).
    pub(crate) async fn over(
        self: Rc<Self>,
        mut ping: Option<PingPong>,
        limits: &Limits,
        pings_idle: bool,
        load: impl Fn() -> Load,
    ) -> End {
        let (mut idle_since, mut opened) = (Instant::now(), 0);
        let tick = limits.ping_after.min(limits.answer_within) / 2;
        let tick = tick.min(limits.idle_within).max(Duration::from_millis(1));
        loop {
            sleep(tick).await;
            let blocked = self.blocked_since.get();
            if blocked.is_some_and(|since| since.elapsed() >= limits.answer_within) {
                return End::Silent;
            }
            let load = load();
            let is_idle = load.streams == 0;
            if !is_idle || load.opened != opened {
                (idle_since, opened) = (Instant::now(), load.opened);
            } else if idle_since.elapsed() >= limits.idle_within {
                return End::Idle;
            }
            let is_quiet = self.last_read.get().elapsed() >= limits.ping_after;
            if let Some(ping) = ping
                .as_mut()
                .filter(|_| is_quiet && (!is_idle || pings_idle))
            {
                let pong = timeout(limits.ping_within, ping.ping(h2::Ping::opaque())).await;
                if pong.is_err() {
                    return End::Silent;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that reads what is written, and says nothing.
    #[derive(Default)]
    struct Silent(Rc<Cell<Vec<Vec<u8>>>>);

    impl AsyncRead for Silent {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Silent {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            octets: &[u8],
        ) -> Poll<io::Result<usize>> {
            let mut writes = self.0.take();
            writes.push(octets.to_vec());
            self.0.set(writes);
            Poll::Ready(Ok(octets.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// free5GC's servers send GOAWAY to a connection that has no stream within a millisecond.
    #[tokio::test(flavor = "current_thread")]
    async fn preface_settings_and_a_request_with_its_body_are_one_write() {
        let silent = Silent::default();
        let writes = Rc::clone(&silent.0);
        let wire = Wire::new(silent, Bytes::new(), true);
        let mut builder = h2::client::Builder::new();
        let shaken = builder
            .initial_connection_window_size(1 << 22)
            .handshake(wire);
        let (mut send, connection) = shaken.await.expect("no octet leaves yet");
        let request = http::Request::post("http://a/b")
            .body(())
            .expect("a request");
        let (_response, mut body) = send.send_request(request, false).expect("a stream");
        body.send_data(Bytes::from(vec![0; 5_000]), true)
            .expect("a body");
        let moment = Duration::from_millis(10);
        timeout(moment, connection)
            .await
            .expect_err("a silent peer");
        let writes = writes.take();
        assert_eq!(writes.len(), 1);
        let frames = writes[0].strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let (mut frames, mut kinds) = (frames.expect("the preface"), Vec::new());
        while let [high, middle, low, kind, ..] = *frames {
            let length = u32::from_be_bytes([0, high, middle, low]);
            frames = &frames[9 + length as usize..];
            kinds.push(kind);
        }
        // SETTINGS, WINDOW_UPDATE, HEADERS, DATA.
        assert_eq!(kinds, [4, 8, 1, 0]);
    }
}
