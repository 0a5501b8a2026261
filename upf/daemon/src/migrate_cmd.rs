//! `sluice ctl move` and `scale`: migrations asked for by an operator.

use super::ctl::{CtlRequest, Request, error};
use serde_json::{Value, json};
use sluice_control::core::UpfControl;
use sluice_datapath::control::ControlEnd;
use sluice_datapath::ids::WorkerId;
use sluice_mem::shard::ShardId;
use sluice_port::Packet;
use std::net::IpAddr;
use std::time::Instant;

/// Requests whose moves are under way.
#[derive(Default)]
pub struct Moves {
    waiting: Vec<Waiting>,
}

struct Waiting {
    asked: CtlRequest,
    began: Instant,
    /// One shard, or all that moves.
    shard: Option<ShardId>,
    /// Moves that were over at the beginning.
    done: u64,
    answer: Value,
}

impl Moves {
    /// Begins what is asked for, or says why not.
    pub fn begin<P: Packet>(&mut self, asked: CtlRequest, core: &mut UpfControl<P>) {
        let begun = match asked.request {
            Request::Move { shard, ue, to } => move_shard(core, shard, ue, to),
            Request::Scale {
                workers: Some(workers),
            } => scale(core, workers),
            _ => Err("not a move".to_owned()),
        };
        match begun {
            Ok((shard, answer)) => self.waiting.push(Waiting {
                asked,
                began: Instant::now(),
                shard,
                done: core.end().mover().progress().0,
                answer,
            }),
            Err(why) => asked.answer(error(&why)),
        }
    }

    /// Answers those whose moves are over.
    pub fn answer<P: Send>(&mut self, end: &ControlEnd<P>) {
        if self.waiting.is_empty() {
            return;
        }
        let (done, left) = end.mover().progress();
        let is_over = |w: &mut Waiting| match w.shard {
            Some(shard) => !end.mover().is_unsettled(shard),
            None => left == 0,
        };
        for over in self.waiting.extract_if(.., is_over) {
            let Waiting {
                began, mut answer, ..
            } = over;
            answer["took_us"] = json!(began.elapsed().as_micros() as u64);
            if over.shard.is_none() {
                answer["moves"] = json!(done - over.done);
            }
            over.asked.answer(answer);
        }
    }
}

type Begun = Result<(Option<ShardId>, Value), String>;

fn move_shard<P: Packet>(
    core: &mut UpfControl<P>,
    shard: Option<u16>,
    ue: Option<IpAddr>,
    to: u8,
) -> Begun {
    let shard = match (shard, ue) {
        (Some(shard), None) => shard,
        (None, Some(ue)) => {
            let seid = core.up.seid_of_ue(ue);
            let lines = core.up.sessions();
            let line = lines.iter().find(|line| Some(line.seid) == seid);
            line.ok_or_else(|| format!("no session has the UE address {ue}"))?
                .shard
        }
        _ => return Err("expected a shard or a UE".to_owned()),
    };
    let shard = ShardId(shard);
    let workers = core.end().workers();
    if usize::from(to) >= workers {
        return Err(format!("worker {to}: expected 0 to {}", workers - 1));
    }
    let from = core.end().mover().owner(shard);
    if !core.end_mut().move_shard(shard, WorkerId(to)) {
        return Err(format!("shard {shard}: expected 0 to 4095"));
    }
    Ok((
        Some(shard),
        json!({ "shard": shard.0, "from": from.0, "to": to }),
    ))
}

fn scale<P: Packet>(core: &mut UpfControl<P>, workers: u8) -> Begun {
    let all = core.end().workers();
    let wanted = usize::from(workers);
    if !(1..=all).contains(&wanted) {
        return Err(format!(
            "{wanted} workers: expected 1 to {all}, as many as upf.yaml gives cores"
        ));
    }
    let active: Vec<bool> = (0..all).map(|worker| worker < wanted).collect();
    core.end_mut().spread(&active);
    Ok((None, json!({ "workers": wanted, "of": all })))
}
