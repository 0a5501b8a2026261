//! Running a target and catching its panic without the noise.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// A panic: where and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Panic {
    /// File and line.
    pub place: String,
    /// What it said.
    pub message: String,
}

thread_local! {
    /// `Some` while this thread's panics are caught here.
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Runs `target` on `input`; its panic, if it panics.
pub(super) fn run(target: fn(&[u8]), input: &[u8]) -> Result<(), Panic> {
    HOOK.call_once(record_panics);
    let nothing = Panic {
        place: String::new(),
        message: String::new(),
    };
    LAST.set(Some(nothing));
    let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
    let last = LAST.take();
    match outcome {
        Ok(()) => Ok(()),
        Err(_) => Err(last.unwrap_or(Panic {
            place: "?".to_owned(),
            message: "?".to_owned(),
        })),
    }
}

/// Panics of threads that run targets are recorded; those of others are shown as before.
fn record_panics() {
    let before = take_hook();
    set_hook(Box::new(move |info| {
        let caught = LAST.with_borrow_mut(|last| {
            let Some(place) = last else {
                return false;
            };
            place.place = info.location().map(ToString::to_string).unwrap_or_default();
            place.message = text(info.payload());
            true
        });
        if !caught {
            before(info);
        }
    }));
}

/// What a panic said: a text, by the macros of the standard library.
fn text(payload: &dyn Any) -> String {
    let literal = payload.downcast_ref::<&str>().map(ToString::to_string);
    let formatted = || payload.downcast_ref::<String>().cloned();
    literal.or_else(formatted).unwrap_or_else(|| "?".to_owned())
}
