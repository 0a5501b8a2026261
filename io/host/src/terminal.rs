//! Terminal detection and size.

use rustix::termios::tcgetwinsize;

/// Columns and rows of the terminal behind standard error; `None` if there is none, or if it does
/// not know.
pub fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(std::io::stderr()).ok()?;
    let known = size.ws_col > 0 && size.ws_row > 0;
    known.then(|| (size.ws_col.into(), size.ws_row.into()))
}
