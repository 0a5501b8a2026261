//! Errors of kernel interfaces.

use std::io;

use crate::tool::ToolError;

/// A request to the host that was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A command-line tool is missing or refused.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A system call failed.
    #[error("{action}: {source}")]
    Os {
        /// Attempted action, with its object.
        action: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel would not take this as the name of an interface.
    #[error("interface name \"{}\" must have 1 to 15 bytes, without '/', ':' or white space", .0.escape_debug())]
    InterfaceName(String),
    /// This cannot be part of a namespace's name.
    #[error("namespace label \"{}\" must be 1 to 32 letters, digits, '-' or '_'", .0.escape_debug())]
    NamespaceLabel(String),
    /// Features that must be off are still on after they were switched off.
    #[error("{interface}: still on after `ethtool -K`: {}", features.join(", "))]
    OffloadsOn {
        /// The interface.
        interface: String,
        /// Names of the features as ethtool prints them.
        features: Vec<String>,
    },
    /// The namespace has no such interface.
    #[error("no interface {interface} in {namespace}")]
    NoSuchInterface {
        /// The interface that was looked for.
        interface: String,
        /// Namespace that was searched.
        namespace: String,
    },
    /// A tool answered in a form that we do not understand.
    #[error("`{tool}` printed something unexpected: \"{}\"", output.escape_debug())]
    Output {
        /// The tool.
        tool: &'static str,
        /// Output of the command, shortened.
        output: String,
    },
}

impl HostError {
    /// Whether a socket could not be bound because the namespace does not have the address.
    pub fn is_not_our_address(&self) -> bool {
        let missing = io::ErrorKind::AddrNotAvailable;
        matches!(self, Self::Os { source, .. } if source.kind() == missing)
    }

    /// For `map_err` at a system call.
    pub fn os<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Self {
        let action = action.into();
        move |source| Self::Os {
            action,
            source: source.into(),
        }
    }
}
