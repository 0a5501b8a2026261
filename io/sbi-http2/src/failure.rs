//! Failures in words: why a request has no response, and why the interfaces do not start.

use std::io;
use std::net::SocketAddr;

use sluice_sbi_keys::FileError;

/// Why a request has no response.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The API root, or the place that a redirection names, is no URI of HTTP.
    #[error("{0}")]
    Root(String),
    /// There is no connection.
    #[error("cannot connect to {to}: {why}")]
    Connect {
        /// Host and port.
        to: String,
        /// Reason.
        why: String,
    },
    /// The peer does not process the request, or the connection ends, each time that the request was sent.
    #[error("no answer from {to}: {why}")]
    Lost {
        /// Host and port.
        to: String,
        /// Reason.
        why: String,
    },
    /// The deadline came first.
    #[error("no answer in time")]
    Deadline,
    /// The response is longer than it may be.
    #[error("the answer has more than {0} octets")]
    TooLong(usize),
    /// The request was redirected more often than is followed.
    #[error("redirected more than {0} times")]
    Redirects(u32),
    /// Too many requests have no answer yet, or responses that are being read are too long together.
    #[error("too many requests wait for their answers, or their answers are too long together")]
    Busy,
    /// The NRF gives no access token for the request.
    #[error("no access token: {0}")]
    Token(String),
    /// HTTP/2 does not carry such a request.
    #[error("cannot send the request: {0}")]
    Request(String),
}

/// Why the interfaces do not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be bound.
    #[error("cannot listen on {listen}: {source}")]
    Listen {
        /// Address.
        listen: SocketAddr,
        /// Reason.
        source: io::Error,
    },
    /// The name of the function is no value of a header.
    #[error("user agent \"{0}\" has characters that a header cannot have")]
    Agent(String),
    /// A file of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] FileError),
    /// There is no room for a thread or its descriptors.
    #[error("cannot start the thread of the service-based interfaces: {0}")]
    Thread(#[from] io::Error),
}
