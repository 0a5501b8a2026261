//! Clock of a URR: time of use, and quotas that end by time, in whole seconds (TS 29.244, 5.2.2.2).
//!
//! Time runs from the first packet on, or at once (ISTM). With an inactivity detection time it stands still when
//! no packet came for so long, and runs again with the next. The path tells of packets only when usage is taken:
//! the first and the last since then. So a clock is looked at when it may have to stand still, and what happened
//! between two looks is known exactly, as long as none is late.

use crate::rules::{MonitoringTime, Urr};
use crate::usage::monitoring::UsageBefore;
use sluice_datapath::session::usage_record::AwaitsPacket;
use sluice_wire::pfcp::value::{MeasurementInformation, ReportingTriggers, UsageReportTrigger};

/// In place of a time in seconds: there is none.
const NEVER: u32 = u32::MAX;
const NS_PER_S: u64 = 1_000_000_000;

/// What has ended a quota, as bits.
mod ended {
    pub const TIME: u8 = 1;
    pub const VALIDITY: u8 = 1 << 1;
    pub const HOLDING: u8 = 1 << 2;
}

/// What a URR says of time, in seconds; [`NEVER`] where it says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Limits {
    threshold_s: u32,
    quota_s: u32,
    validity_s: u32,
    holding_s: u32,
    inactivity_s: u32,
    /// When its Monitoring Time is, monotonic.
    monitoring_s: u32,
    /// Time of use matters to it.
    measures: bool,
    /// Reports that are made.
    told: UsageReportTrigger,
    /// Its measurement is not inactive (INAM).
    is_active: bool,
    /// Time runs without a first packet (ISTM).
    at_once: bool,
}

impl Limits {
    fn of(urr: &Urr) -> Self {
        let all = [
            (ReportingTriggers::TIMTH, UsageReportTrigger::TIMTH),
            (ReportingTriggers::TIMQU, UsageReportTrigger::TIMQU),
            (ReportingTriggers::QUVTI, UsageReportTrigger::QUVTI),
            (ReportingTriggers::QUHTI, UsageReportTrigger::QUHTI),
            (ReportingTriggers::STOPT, UsageReportTrigger::STOPT),
        ];
        let asked = all
            .into_iter()
            .filter(|(asked, _)| urr.triggers.contains(*asked));
        let told = asked.fold(UsageReportTrigger::NONE, |all, (_, told)| all.union(told));
        let times = urr.times;
        let tells = urr.triggers.contains(ReportingTriggers::TIMTH);
        Self {
            // A threshold of 0 would be reached for ever.
            threshold_s: times
                .threshold_s
                .filter(|_| tells)
                .map_or(NEVER, |s| s.max(1)),
            quota_s: times.quota_s.unwrap_or(NEVER),
            validity_s: times.validity_s.unwrap_or(NEVER),
            holding_s: times.holding_s.unwrap_or(NEVER),
            inactivity_s: times.inactivity_s.unwrap_or(NEVER),
            monitoring_s: match urr.monitoring.time {
                MonitoringTime::At(due_s) => due_s,
                MonitoringTime::None | MonitoringTime::Passed => NEVER,
            },
            measures: urr.measures_time(),
            told,
            is_active: urr.is_active(),
            at_once: urr.information.contains(MeasurementInformation::ISTM),
        }
    }
}

/// A clock. Times are monotonic, in whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageClock {
    limits: Limits,
    /// Time of use since the last report.
    used_s: u32,
    /// The same since the threshold began.
    towards_s: u32,
    /// The same since the quota was granted.
    of_quota_s: u32,
    /// Time of use was counted up to here.
    until_s: u32,
    /// The last packet, or when its absence began to count.
    last_s: u32,
    /// Since when packets are missed.
    watched_s: u32,
    /// All packets until then are known.
    seen_s: u32,
    /// When the quota was granted.
    granted_s: u32,
    /// What has ended the quota.
    ended: u8,
    is_running: bool,
    /// The transaction of the message that made it is under way: what that tells of packets was before.
    is_new: bool,
    /// The same of what began its quota anew after its end: such packets let no time run.
    is_renewed: bool,
    /// That packets no longer come is to be told.
    tells_stop: bool,
    /// What was measured before the Monitoring Time, until it is reported.
    before: Option<UsageBefore>,
}

impl UsageClock {
    fn new(limits: Limits, now_s: u32) -> Self {
        Self {
            limits,
            used_s: 0,
            towards_s: 0,
            of_quota_s: 0,
            until_s: now_s,
            last_s: now_s,
            watched_s: now_s,
            seen_s: now_s,
            granted_s: now_s,
            ended: 0,
            is_running: limits.is_active && limits.at_once,
            is_new: true,
            is_renewed: false,
            tells_stop: false,
            before: None,
        }
    }

    /// The clock of a URR as a message makes it.
    pub fn changed(before: Option<&Self>, urr: &Urr, now_s: u32) -> Self {
        let limits = Limits::of(urr);
        let Some(before) = before else {
            return Self::new(limits, now_s);
        };
        if !limits.measures || !before.limits.measures {
            return Self {
                before: before.before,
                ..Self::new(limits, now_s)
            };
        }
        let mut clock = *before;
        clock.advance(now_s);
        let ended = clock.ended;
        if urr.renewed.time_threshold || limits.threshold_s != before.limits.threshold_s {
            clock.towards_s = 0;
        }
        if urr.renewed.time_quota {
            clock.of_quota_s = 0;
            clock.ended &= !ended::TIME;
        }
        if urr.renewed.grant {
            clock.ended &= !(ended::VALIDITY | ended::HOLDING);
            clock.granted_s = now_s;
        }
        let (was, is) = (before.limits, limits);
        if is.is_active && !was.is_active {
            clock.granted_s = now_s;
        }
        if is.inactivity_s != was.inactivity_s {
            clock.watched_s = now_s;
        }
        let may_begin = (ended != 0 && clock.ended == 0)
            || (is.is_active && !was.is_active)
            || (is.at_once && !was.at_once);
        clock.limits = limits;
        clock.is_renewed |= ended != 0 && clock.ended == 0;
        if !is.is_active {
            (clock.is_running, clock.tells_stop) = (false, false);
        } else if may_begin && is.at_once && clock.ended == 0 && !clock.is_running {
            clock.is_running = true;
            (clock.until_s, clock.last_s) = (now_s, now_s);
        }
        clock
    }

    /// When time stands still unless a packet comes before.
    fn idle_s(&self) -> u32 {
        let last_s = self.last_s.max(self.watched_s);
        last_s.saturating_add(self.limits.inactivity_s)
    }

    /// Counts the time until now, as far as it is known.
    pub fn advance(&mut self, now_s: u32) {
        let until_s = now_s.min(self.idle_s());
        let Some(more_s) = until_s.checked_sub(self.until_s) else {
            return;
        };
        if self.is_running {
            for sum in [&mut self.used_s, &mut self.towards_s, &mut self.of_quota_s] {
                *sum = sum.saturating_add(more_s);
            }
            self.until_s = until_s;
        }
    }

    /// Packets that left since usage was taken before: the first and the last of them, in nanoseconds; 0 is none.
    pub fn packets_left(&mut self, first_ns: u64, last_ns: u64) {
        let is_new = core::mem::take(&mut self.is_new);
        let is_renewed = core::mem::take(&mut self.is_renewed);
        if first_ns == 0 || is_new || !self.limits.is_active {
            return;
        }
        let [first_s, last_s] = [first_ns, last_ns].map(|ns| (ns / NS_PER_S) as u32);
        // Those that left before a quota ended hold the others.
        if self.ended != 0 || (is_renewed && !self.is_running) {
            self.last_s = self.last_s.max(first_s).max(last_s);
            return;
        }
        if self.is_running && first_s > self.idle_s() {
            self.advance(first_s);
            self.stood_still();
        }
        if !self.is_running {
            self.is_running = true;
            self.until_s = self.until_s.max(first_s);
        }
        self.last_s = self.last_s.max(first_s).max(last_s);
    }

    /// All packets until then are known by now.
    pub fn seen(&mut self, until_s: u32) {
        self.seen_s = self.seen_s.max(until_s);
        if self.is_running && self.idle_s() <= self.seen_s {
            self.advance(self.seen_s);
            self.stood_still();
        }
    }

    fn stood_still(&mut self) {
        self.is_running = false;
        self.tells_stop = self.limits.told.contains(UsageReportTrigger::STOPT);
    }

    /// What is to be reported by now, and has not been before; quotas end.
    pub fn judge(&mut self, now_s: u32) -> UsageReportTrigger {
        type Trigger = UsageReportTrigger;
        if !self.limits.is_active {
            return Trigger::NONE;
        }
        self.advance(now_s);
        let mut due = Trigger::NONE;
        if self.towards_s >= self.limits.threshold_s {
            self.towards_s = 0;
            due = due.union(Trigger::TIMTH);
        }
        if core::mem::take(&mut self.tells_stop) {
            due = due.union(Trigger::STOPT);
        }
        let ends = [
            (
                self.of_quota_s >= self.limits.quota_s,
                ended::TIME,
                Trigger::TIMQU,
            ),
            (
                self.valid_until_s() <= now_s,
                ended::VALIDITY,
                Trigger::QUVTI,
            ),
            (
                self.held_until_s() <= now_s.min(self.seen_s),
                ended::HOLDING,
                Trigger::QUHTI,
            ),
        ];
        for (_, bit, trigger) in ends.into_iter().filter(|(ends, ..)| *ends) {
            if self.ended & bit == 0 {
                self.ended |= bit;
                due = due.union(trigger);
            }
        }
        if self.ended != 0 {
            self.is_running = false;
        }
        UsageReportTrigger(due.0 & self.limits.told.0)
    }

    fn valid_until_s(&self) -> u32 {
        self.granted_s.saturating_add(self.limits.validity_s)
    }

    fn held_until_s(&self) -> u32 {
        let quiet_since_s = self.last_s.max(self.granted_s);
        quiet_since_s.saturating_add(self.limits.holding_s)
    }

    /// True if something depends on packets that may not be known yet: usage is taken before anything is judged.
    pub fn must_look(&self, now_s: u32) -> bool {
        let is_unseen = |at_s: u32| at_s <= now_s && at_s > self.seen_s;
        let idle = self.is_running && is_unseen(self.idle_s());
        let held = self.ended & ended::HOLDING == 0 && is_unseen(self.held_until_s());
        self.limits.is_active && (idle || held)
    }

    /// When it is to be looked at next.
    pub fn next_look_s(&self) -> Option<u32> {
        let mut next_s = self.limits.monitoring_s;
        if self.limits.is_active {
            next_s = next_s.min(self.next_of_time_s());
        }
        (next_s != NEVER).then_some(next_s)
    }

    fn next_of_time_s(&self) -> u32 {
        let after = |limit_s: u32, sum_s: u32| match limit_s {
            NEVER => NEVER,
            limit_s => self.until_s.saturating_add(limit_s.saturating_sub(sum_s)),
        };
        let if_not = |bit, at_s| if self.ended & bit == 0 { at_s } else { NEVER };
        let mut next_s = if_not(ended::VALIDITY, self.valid_until_s());
        next_s = next_s.min(if_not(ended::HOLDING, self.held_until_s()));
        if self.is_running {
            next_s = next_s.min(after(self.limits.threshold_s, self.towards_s));
            next_s = next_s.min(after(self.limits.quota_s, self.of_quota_s));
            next_s = next_s.min(self.idle_s());
        }
        let is_used_up = self.limits.quota_s <= self.of_quota_s && self.ended & ended::TIME == 0;
        if self.tells_stop || is_used_up || self.limits.threshold_s <= self.towards_s {
            next_s = next_s.min(self.until_s);
        }
        next_s
    }

    /// Whether the control core is to be told of the next packet after usage is taken now.
    pub fn awaits_packet(&self, now_s: u32) -> AwaitsPacket {
        if !self.limits.is_active || self.stops() {
            return AwaitsPacket::NEVER;
        }
        if (self.is_new || self.is_renewed) && !self.is_running {
            // Of the packets that the take tells none lets time run, so whatever it tells the next one is awaited.
            return AwaitsPacket {
                if_none: true,
                before_ns: u64::MAX,
            };
        }
        let idle_since_s = now_s.checked_sub(self.limits.inactivity_s);
        AwaitsPacket {
            if_none: !self.is_running || self.idle_s() <= now_s,
            before_ns: idle_since_s.map_or(0, |s| (u64::from(s) + 1) * NS_PER_S),
        }
    }

    /// True if nothing may pass. A quota of 0 stops with the message that brings it, before its end is told.
    pub fn stops(&self) -> bool {
        self.limits.is_active && (self.ended != 0 || self.limits.quota_s == 0)
    }

    /// Time of use since the last report.
    pub fn used_s(&self) -> u32 {
        self.used_s
    }

    /// A report has left; time of use begins at zero.
    pub fn begin_next(&mut self) -> u32 {
        core::mem::take(&mut self.used_s)
    }

    /// A report was not answered: it is told again.
    pub fn returned(&mut self, used_s: u32) {
        self.used_s = self.used_s.saturating_add(used_s);
    }

    /// What was measured before the Monitoring Time and is not reported.
    pub fn before(&self) -> Option<&UsageBefore> {
        self.before.as_ref()
    }

    /// The Monitoring Time has come: what was measured is kept apart, behind what was before.
    pub fn keep_before(&mut self, mut latest: UsageBefore) {
        if let Some(earlier) = &self.before {
            latest.follow(earlier);
        }
        self.before = Some(latest);
    }

    /// What was measured earlier was told and not answered. False if no Monitoring Time has come since.
    pub fn precede_before(&mut self, earlier: &UsageBefore) -> bool {
        let before = self.before.as_mut();
        before.map(|before| before.follow(earlier)).is_some()
    }

    /// What was measured before the Monitoring Time is reported.
    pub fn take_before(&mut self) -> Option<UsageBefore> {
        self.before.take()
    }

    /// A report is due: the threshold begins anew.
    pub fn restart_threshold(&mut self) {
        self.towards_s = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Renewed, UrrTimes};
    use sluice_wire::ids::UrrId;
    use sluice_wire::pfcp::value::MeasurementMethod;

    type Trigger = UsageReportTrigger;

    fn urr(times: UrrTimes) -> Urr {
        Urr {
            method: MeasurementMethod::DURAT,
            triggers: ReportingTriggers::TIMTH
                | ReportingTriggers::TIMQU
                | ReportingTriggers::QUVTI
                | ReportingTriggers::QUHTI
                | ReportingTriggers::STOPT,
            times,
            renewed: Renewed::default(),
            ..Urr::new(UrrId(1))
        }
    }

    /// A new clock whose transaction has come back.
    fn clock(urr: &Urr, now_s: u32) -> UsageClock {
        let mut clock = UsageClock::changed(None, urr, now_s);
        clock.packets_left(at(now_s), at(now_s));
        clock
    }

    fn at(s: u32) -> u64 {
        u64::from(s) * NS_PER_S + 500
    }

    #[test]
    fn time_runs_from_the_first_packet_on() {
        let mut clock = self::clock(&urr(UrrTimes::default()), 100);
        clock.advance(120);
        assert_eq!(clock.used_s(), 0);
        assert!(clock.awaits_packet(120).if_none);
        clock.packets_left(at(130), at(131));
        assert!(!clock.awaits_packet(131).if_none);
        clock.advance(150);
        assert_eq!((clock.begin_next(), clock.used_s()), (20, 0));
        clock.advance(151);
        assert_eq!(clock.used_s(), 1);
        let mut at_once = urr(UrrTimes::default());
        at_once.information = MeasurementInformation::ISTM;
        let mut clock = self::clock(&at_once, 100);
        clock.advance(120);
        assert_eq!(clock.used_s(), 20);
    }

    #[test]
    fn a_clock_that_begins_awaits_the_next_packet_whatever_left_before() {
        let mut clock = UsageClock::changed(None, &urr(UrrTimes::default()), 100);
        let awaited = clock.awaits_packet(100);
        assert_eq!((awaited.if_none, awaited.before_ns), (true, u64::MAX));
        clock.packets_left(at(100), at(100));
        assert!(!clock.is_running);
        let awaited = clock.awaits_packet(100);
        assert_eq!((awaited.if_none, awaited.before_ns), (true, 0));
    }

    #[test]
    fn time_stands_still_without_packets_and_the_stop_is_told_once() {
        let times = UrrTimes {
            inactivity_s: Some(5),
            ..UrrTimes::default()
        };
        let mut clock = self::clock(&urr(times), 100);
        clock.packets_left(at(101), at(103));
        assert_eq!(clock.next_look_s(), Some(108));
        assert_eq!(
            clock.judge(108),
            Trigger::NONE,
            "a packet may not be known yet"
        );
        clock.packets_left(at(107), at(107));
        clock.seen(108);
        assert_eq!(clock.next_look_s(), Some(112));
        let idle = clock.awaits_packet(112);
        assert_eq!((idle.if_none, idle.before_ns), (true, 108 * NS_PER_S));
        clock.judge(112);
        clock.seen(112);
        assert_eq!(clock.judge(112), Trigger::STOPT);
        assert_eq!((clock.judge(130), clock.used_s()), (Trigger::NONE, 11));
        assert_eq!(clock.next_look_s(), None);
        clock.packets_left(at(140), at(140));
        clock.advance(142);
        assert_eq!(clock.used_s(), 13);
        // A look that is late: the gap between the packets before and after the last take is known.
        clock.packets_left(at(150), at(151));
        clock.advance(152);
        assert_eq!(clock.used_s(), 11 + 5 + 2);
    }

    #[test]
    fn quotas_end_by_use_by_age_and_by_absence() {
        let times = UrrTimes {
            threshold_s: Some(4),
            quota_s: Some(10),
            ..UrrTimes::default()
        };
        let mut rule = urr(times);
        let mut clock = self::clock(&rule, 100);
        clock.packets_left(at(100), at(100));
        assert_eq!(clock.next_look_s(), Some(104));
        assert_eq!(clock.judge(104), Trigger::TIMTH);
        assert_eq!(clock.judge(108), Trigger::TIMTH);
        assert_eq!((clock.judge(110), clock.stops()), (Trigger::TIMQU, true));
        assert_eq!((clock.judge(200), clock.used_s()), (Trigger::NONE, 10));
        rule.renewed = Renewed::ALL;
        let clock = UsageClock::changed(Some(&clock), &rule, 200);
        assert!(!clock.stops() && clock.awaits_packet(200).if_none);

        let times = UrrTimes {
            validity_s: Some(30),
            holding_s: Some(10),
            ..UrrTimes::default()
        };
        let rule = urr(times);
        let mut clock = self::clock(&rule, 100);
        clock.packets_left(at(105), at(108));
        assert_eq!(clock.next_look_s(), Some(118));
        assert_eq!(
            clock.judge(118),
            Trigger::NONE,
            "a packet may not be known yet"
        );
        clock.packets_left(at(117), at(117));
        clock.seen(118);
        assert_eq!(clock.next_look_s(), Some(127));
        clock.seen(127);
        assert_eq!((clock.judge(127), clock.stops()), (Trigger::QUHTI, true));
        assert_eq!(clock.judge(130), Trigger::QUVTI);
        assert_eq!(clock.next_look_s(), None);
    }

    #[test]
    fn a_time_quota_of_0_is_used_up_from_its_beginning() {
        let mut rule = urr(UrrTimes {
            quota_s: Some(0),
            ..UrrTimes::default()
        });
        let mut clock = self::clock(&rule, 100);
        assert!(clock.stops(), "before it is told, too");
        assert_eq!(clock.next_look_s(), Some(100));
        assert_eq!((clock.judge(100), clock.stops()), (Trigger::TIMQU, true));
        assert_eq!((clock.judge(101), clock.used_s()), (Trigger::NONE, 0));
        assert_eq!(clock.next_look_s(), None);
        rule.times.quota_s = Some(3);
        rule.renewed = Renewed::ALL;
        let mut clock = UsageClock::changed(Some(&clock), &rule, 110);
        assert!(!clock.stops());
        // The message's own transaction brings what was before.
        clock.packets_left(at(105), at(105));
        assert!(clock.awaits_packet(110).if_none);
        clock.packets_left(at(111), at(111));
        assert_eq!(clock.judge(114), Trigger::TIMQU);
    }

    #[test]
    fn an_inactive_measurement_has_no_time() {
        let times = UrrTimes {
            quota_s: Some(10),
            ..UrrTimes::default()
        };
        let mut rule = urr(times);
        let mut clock = self::clock(&rule, 100);
        clock.packets_left(at(100), at(100));
        rule.information = MeasurementInformation::INAM;
        let mut clock = UsageClock::changed(Some(&clock), &rule, 106);
        clock.packets_left(at(107), at(107));
        assert_eq!((clock.judge(120), clock.used_s()), (Trigger::NONE, 6));
        assert_eq!(clock.next_look_s(), None);
        rule.information = MeasurementInformation::NONE;
        let mut clock = UsageClock::changed(Some(&clock), &rule, 130);
        assert!(clock.awaits_packet(130).if_none);
        clock.packets_left(at(131), at(131));
        assert_eq!(clock.judge(135), Trigger::TIMQU);
    }

    #[test]
    fn a_measurement_that_becomes_active_begins_validity_and_holding_anew() {
        let mut rule = urr(UrrTimes {
            validity_s: Some(10),
            holding_s: Some(3),
            ..UrrTimes::default()
        });
        rule.information = MeasurementInformation::INAM;
        let clock = self::clock(&rule, 100);
        rule.information = MeasurementInformation::NONE;
        let mut clock = UsageClock::changed(Some(&clock), &rule, 120);
        clock.seen(122);
        assert_eq!(clock.judge(122), Trigger::NONE);
        clock.seen(123);
        assert_eq!(clock.judge(123), Trigger::QUHTI);
        assert_eq!(clock.judge(130), Trigger::QUVTI);
    }
}
