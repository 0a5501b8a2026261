//! Text report.

use super::report::{Outcome, Run, placement};
use crate::stats::Summary;

const HEAD: [&str; 7] = [
    "",
    "sessions",
    "messages/s (min-max)",
    "ns/message (min-max)",
    "limit ns",
    "ratio",
    "rtt us p50/p99 at rate",
];
/// Between two columns.
const APART: usize = 2;

/// All of it.
pub fn to_table(outcomes: &[Outcome], run: &Run) -> String {
    let rows = outcomes.iter().map(cells);
    let rows: Vec<[String; 7]> = [HEAD.map(str::to_owned)].into_iter().chain(rows).collect();
    let mut lines = aligned(&rows).into_iter();
    let mut text = lines.next().unwrap_or_default();
    for (o, line) in outcomes.iter().zip(lines) {
        text += &line;
        text += &format!("  {}\n", o.case.carried_by);
        text += &format!("  {}\n", undisturbed(o));
        text += &o.conditions.line();
    }
    if let Some(flow) = &run.flow {
        text += &format!(
            "pfcp/dpdk/flow    {:.0} modifications/s beside {} packets: {} lost, {} ns a packet \
             instead of {} ({:+.1} %)\n",
            flow.rate_per_s.median,
            flow.packets,
            flow.lost,
            spread(&flow.busy_ns),
            spread(&flow.quiet_ns),
            flow.slowdown() * 100.0,
        );
    }
    text += &format!("{}\n", placement(run.cpus));
    if let Some(o) = outcomes.first() {
        let (peers, ambrs) = o.variety.counts();
        text += &format!("sessions at {peers} gNBs with {ambrs} values of AMBR and MBR\n");
    }
    text += &format!(
        "{} sessions stood at the end; {} packets compared\n",
        run.proven, run.compared
    );
    text
}

/// Round trips while nobody took a CPU away.
fn undisturbed(o: &Outcome) -> String {
    let f = &o.figures;
    format!(
        "rtt us p50/p99/max {:.1}/{:.1}/{:.1} at {:.0} while both threads had their CPUs: {:.1} % of the requests",
        f.undisturbed.p50,
        f.undisturbed.p99,
        f.undisturbed.max,
        o.case.rate_per_s,
        f.undisturbed_share.median * 100.0,
    )
}

fn cells(o: &Outcome) -> [String; 7] {
    let f = &o.figures;
    [
        o.case.name.to_owned(),
        o.sessions.to_string(),
        spread(&f.rate_per_s),
        spread(&f.busy_ns),
        format!("{:.0}", f.limit_busy_ns.median),
        format!("{:.2}", o.ratio()),
        format!(
            "{:.1}/{:.1} at {:.0}",
            f.open.p50, f.open.p99, o.case.rate_per_s
        ),
    ]
}

/// Lines with columns as wide as their widest cell: names to the left, figures to the right.
fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max();
    let widths: [usize; N] = core::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}", width = width + APART),
        });
        format!("{}\n", cells.collect::<String>())
    };
    rows.iter().map(line).collect()
}

fn spread(s: &Summary) -> String {
    format!("{:.0} ({:.0}-{:.0})", s.median, s.min, s.max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_apart_however_long_a_figure_is() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let rows = [
            row(["", "ns", "rtt us p50/p99 at rate"]),
            row([
                "pfcp/socket/mix",
                "1234567 (1-2345678)",
                "98765.4/123456.7 at 50000",
            ]),
            row(["a", "1", "2"]),
        ];
        let lines = aligned(&rows);
        assert!(
            lines.windows(2).all(|w| w[0].len() == w[1].len()),
            "{lines:?}"
        );
        assert_eq!(
            lines[1],
            "pfcp/socket/mix  1234567 (1-2345678)  98765.4/123456.7 at 50000\n"
        );
        assert_eq!(
            lines[2].split_whitespace().collect::<Vec<_>>(),
            ["a", "1", "2"]
        );
    }
}
