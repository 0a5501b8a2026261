//! Configuration update for a configuration that has changed (TS 23.502, 4.2.4.2; TS 24.501, 5.4.4).

use sluice_n1::{ConfigurationUpdate, Downlink};
use sluice_n2::Cause;

use crate::Amf;
use crate::config::News;
use crate::context::ue::UeId;
use crate::procedure::common;
use crate::procedure::release;
use crate::procedure::{Kind, Procedure};

/// The UE is told names and time. For what only a registration tells, it is to register again, which it
/// does when it is idle; its sessions stay.
pub(crate) async fn run(p: Procedure) {
    // 1: the AMF decides
    let news = p.with_ue(|ue| ue.news);
    if news.names {
        common::tell_names_and_time(&p);
    }
    if !news.registration {
        return p.with_ue(|ue| ue.news = News::default());
    }
    let command = Downlink::ConfigurationUpdateCommand(ConfigurationUpdate {
        acknowledge: true,
        register: true,
        ..ConfigurationUpdate::default()
    });
    // 2a and 2b: UE Configuration Update Command and Complete; T3555
    let answer = p.ask("2b", Kind::Configuration, |p| {
        p.send("2a", &command);
        Ok(())
    });
    let answer = answer.await;
    // One that does not answer learns it when it registers (5.4.4.6 a).
    p.with_ue(|ue| ue.news = News::default());
    match answer {
        // 4: it begins when the connection is released (5.4.4.4)
        Ok(_) => release::run(&p, Cause::NORMAL_RELEASE).await,
        Err(_) => p.failed("the UE does not answer"),
    }
}

impl Amf {
    /// Registered UEs are told when they are connected and have nothing else to do.
    pub(crate) fn tell_ues(&mut self, news: News) {
        if !news.is_any() {
            return;
        }
        let connected: Vec<UeId> = {
            let state = &mut *self.state.borrow_mut();
            for ue in state.ues.values_mut() {
                if ue.registered.is_some() {
                    ue.news = ue.news.and(news);
                }
            }
            let connections = state.connections.iter();
            connections.map(|(_, connection)| connection.ue).collect()
        };
        for ue in connected {
            self.tell_news(ue);
        }
    }

    /// Tells a UE what there is to tell, if now is the time.
    pub(crate) fn tell_news(&mut self, ue: UeId) {
        let is_time = {
            let state = self.state.borrow();
            let has_context = state
                .connection(ue)
                .is_some_and(|(_, connection)| connection.is_secured && connection.has_context);
            state.ues.get(ue.0).is_some_and(|ue| {
                has_context && ue.news.is_any() && ue.task.is_none() && ue.registered.is_some()
            })
        };
        if is_time {
            self.start(ue, run);
        }
    }
}
