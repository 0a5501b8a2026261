//! Echo: the same exchanges by hyper alone, without services, bounds and deadlines: the limit that services are measured by.
//!
//! Client and server share a thread and a connection. The server answers requests in their order with the responses of the
//! exchanges.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluice_host::clock;
use sluice_sbi_http2::TlsFiles;
use sluice_services::{Request, Response};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::told;
use crate::Failure;

/// A request, and the response to it, with all header fields that they had on their way.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub request: Request,
    pub response: Response,
}

/// CPU of an exchange in nanoseconds: `count` of them, `window` at a time, after each of them once.
pub fn measure(
    exchanges: &[Exchange],
    (count, window): (usize, usize),
    tls: Option<&TlsFiles>,
) -> Result<f64, Failure> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().build().map_err(told)?;
    let plan: Arc<[Exchange]> = exchanges.into();
    let sides = tls.map(TlsFiles::sides).transpose().map_err(told)?;
    runtime.block_on(async {
        let (client, server) = connect().await.map_err(told)?;
        let lap = match sides {
            None => lap((client, server), plan, count, window).await,
            Some(sides) => {
                let name = ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
                let (connector, acceptor) = (sides.client.into(), sides.server.into());
                let (client, server) = tokio::try_join!(
                    TlsConnector::connect(&connector, name, client),
                    TlsAcceptor::accept(&acceptor, server)
                )
                .map_err(told)?;
                lap((client, server), plan, count, window).await
            }
        };
        lap.map_err(told)
    })
}

/// Both ends of a connection.
async fn connect() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, _) = listener.accept().await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    Ok((client, server))
}

trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for T {}

async fn lap(
    (client, server): (impl Io, impl Io),
    plan: Arc<[Exchange]>,
    count: usize,
    window: usize,
) -> Result<f64, hyper::Error> {
    let (answers, answered) = (Arc::clone(&plan), AtomicUsize::new(0));
    let service = service_fn(move |request: http::Request<Incoming>| {
        let at = answered.fetch_add(1, Ordering::Relaxed) % answers.len();
        let response = answers[at].response.clone().map(Full::new);
        async move {
            request.into_body().collect().await?;
            Ok::<_, hyper::Error>(response)
        }
    });
    let serving = http2::Builder::new(TokioExecutor::new());
    tokio::spawn(serving.serve_connection(TokioIo::new(server), service));
    let (send, connection) = handshake(TokioExecutor::new(), TokioIo::new(client)).await?;
    tokio::spawn(connection);
    ask(&send, &plan, plan.len(), window).await?;
    let before = clock::process_cpu_ns();
    ask(&send, &plan, count, window).await?;
    Ok((clock::process_cpu_ns() - before) as f64 / count as f64)
}

async fn ask(
    send: &SendRequest<Full<Bytes>>,
    plan: &Arc<[Exchange]>,
    count: usize,
    window: usize,
) -> Result<(), hyper::Error> {
    let begun = Arc::new(AtomicUsize::new(0));
    let asking = |_| {
        let (mut send, plan, begun) = (send.clone(), Arc::clone(plan), Arc::clone(&begun));
        tokio::spawn(async move {
            loop {
                let at = begun.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    return Ok::<(), hyper::Error>(());
                }
                let request = plan[at % plan.len()].request.clone().map(Full::new);
                let response = send.send_request(request).await?;
                response.into_body().collect().await?;
            }
        })
    };
    let all: Vec<_> = (0..window).map(asking).collect();
    for one in all {
        // A task is never cancelled here, and does not panic.
        one.await.unwrap_or(Ok(()))?;
    }
    Ok(())
}
