//! All ways of matching give the rule that precedence gives, and what is told of them is whole.

use super::*;
use sluice_datapath::session::flow_filter::{AddressRange, FlowFilter};

fn found(rules: &RuleSet, flow: &Flow) -> [Option<usize>; 3] {
    let sets = [rules.clone()];
    [
        Linear::all_of(&sets)[0].first(flow),
        Hinted::all_of(&sets)[0].first(flow),
        Classifier::all_of(&sets)[0].first(flow),
    ]
}

#[test]
fn of_several_rules_that_a_flow_meets_the_first_is_found() {
    for kind in Kind::ALL {
        for count in RULES {
            let mut rules = RuleSet::new(kind, 7, count);
            let flow = rules.flow(count - 1);
            assert_eq!(found(&rules, &flow), [Some(count - 1); 3], "{kind:?}");
            // One that asks for less, before the others and behind them.
            let wide = FlowFilter {
                remote: AddressRange::Ipv4(44 << 24, 8),
                ..FlowFilter::default()
            };
            rules.filters.push(wide);
            assert_eq!(found(&rules, &flow), [Some(count - 1); 3], "{kind:?}");
            rules.filters.insert(0, wide);
            assert_eq!(found(&rules, &flow), [Some(0); 3], "{kind:?}");
            let other = Flow {
                protocol: 6,
                source: 1,
                ..flow
            };
            assert_eq!(found(&rules, &other), [None; 3], "{kind:?}");
        }
    }
}

#[test]
fn each_case_is_measured_and_its_break_even_told() {
    let cases = Case::all().filter(|case| case.rules <= 10 && !case.own);
    let all: Vec<Times> = cases
        .map(|case| measure(case, Effort::new(1_usize, 1e-6)).unwrap_or_else(|why| panic!("{why}")))
        .collect();
    assert_eq!(all.len(), 8);
    assert!(all.iter().flat_map(|times| times.ns[0]).all(|ns| ns > 0.0));
    let told = break_even(&all);
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].0["name"], "filters/exact/shared");
}

#[test]
fn a_break_even_is_where_the_classifier_stays_sooner() {
    let times = |rules, linear, classifier| Times {
        case: Case {
            kind: Kind::Exact,
            own: false,
            rules,
        },
        ns: vec![[linear, 1.0, classifier]],
    };
    let all = [
        times(1, 9.0, 5.0),
        times(2, 4.0, 5.0),
        times(5, 10.0, 5.0),
        times(10, 20.0, 5.0),
    ];
    let (json, line) = &break_even(&all)[0];
    assert_eq!(json["linear_rules"], 5);
    assert!(json["path_rules"].is_null());
    assert!(
        line.contains("from 5 rules on") && line.contains("not up to 10 rules"),
        "{line}"
    );
}
