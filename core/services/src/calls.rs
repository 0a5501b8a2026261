//! Calls of one request, requests of one message, and chains of them.

use http::StatusCode;
use sluice_sbi::{Done, Message, Nf, Problem, Slot};

use crate::body::read_response;
use crate::exchange::{Came, Consumer, Outgoing, Producer, Response};
use crate::names::Memory;
use crate::problem::{problem_of, tell};

/// Sends a request, and answers the call by its response.
pub(crate) fn call(
    outgoing: Outgoing,
    answer: impl FnOnce(&Came, &mut Memory) -> Result<Slot, Problem> + Send + 'static,
) -> Consumer {
    call_on(outgoing, |came, memory| {
        Consumer::Done(answer(&came, memory).unwrap_or_else(Slot::from))
    })
}

/// Sends a request, and goes on with its response.
pub(crate) fn call_on(
    outgoing: Outgoing,
    then: impl FnOnce(Came, &mut Memory) -> Consumer + Send + 'static,
) -> Consumer {
    Consumer::Send(outgoing.into(), Box::new(then))
}

/// The same to the URI, or to the function if there is none; a URI that is none is a context that is not found.
pub(crate) fn at(outgoing: Outgoing, uri: Option<&str>) -> Result<Outgoing, Problem> {
    match uri {
        None => Ok(outgoing),
        Some(uri) => outgoing.at(uri).ok_or(Problem::ContextNotFound),
    }
}

/// Asks a function, and answers the request by its answer; a failure is told.
pub(crate) fn ask<R: sluice_sbi::Request>(
    request: R,
    respond: impl FnOnce(R::Answer, &mut Memory) -> Response + Send + 'static,
) -> Producer {
    ask_on(request, |answer, memory| {
        Producer::Done(match answer {
            Ok(answer) => respond(answer, memory),
            Err(problem) => tell(problem),
        })
    })
}

/// Asks a function, and goes on with its answer.
pub(crate) fn ask_on<R: sluice_sbi::Request>(
    request: R,
    then: impl FnOnce(Result<R::Answer, Problem>, &mut Memory) -> Producer + Send + 'static,
) -> Producer {
    let on_answer = |answer: &Message, memory: &mut Memory| then(answer.answer_to::<R>(), memory);
    Producer::Ask(R::TO, Slot::from(request), Box::new(on_answer))
}

/// Goes on with all answers of a function.
pub(crate) type OnAnswers = Box<dyn FnOnce(Vec<Message>, &mut Memory) -> Producer + Send>;

/// Asks a function one message after the other; failures are among the answers.
pub(crate) fn ask_each(
    nf: Nf,
    mut messages: std::vec::IntoIter<Slot>,
    mut answers: Vec<Message>,
    memory: &mut Memory,
    then: OnAnswers,
) -> Producer {
    let Some(message) = messages.next() else {
        return then(answers, memory);
    };
    let on_answer = move |answer: &Message, memory: &mut Memory| {
        answers.push(*answer);
        ask_each(nf, messages, answers, memory, then)
    };
    Producer::Ask(nf, message, Box::new(on_answer))
}

/// Answer to a call whose request says no more than that it is done.
pub(crate) fn done(response: &Response) -> Result<Slot, Problem> {
    match response.status().is_success() {
        true => Ok(Done::ALL.into()),
        false => Err(subscriber_problem(response)),
    }
}

/// Problem that a response about a subscriber tells: if nothing is found, it is the subscriber, unless a cause says that it
/// is something else.
pub(crate) fn subscriber_problem(response: &Response) -> Problem {
    let is_context = cause(response).as_deref() == Some("CONTEXT_NOT_FOUND");
    match problem_of(response) {
        Problem::ContextNotFound if !is_context => Problem::UserNotFound,
        problem => problem,
    }
}

/// Cause of a problem, if it has one.
pub(crate) fn cause(response: &Response) -> Option<String> {
    let problem = read_response(response);
    Some(problem.get("cause")?.as_str()?.to_owned())
}

/// Whether a response refuses with 400 and does not say why, as Open5GS does it.
pub(crate) fn is_bare_refusal(response: &Response) -> bool {
    response.status() == StatusCode::BAD_REQUEST && cause(response).is_none()
}
