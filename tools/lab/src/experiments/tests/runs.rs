//! Runs: interrupted, taken up, judged.

use super::{Toy, made, run, run_again, toy_plan};
use crate::experiments::expect::{ExpectationResult, judge};
use crate::experiments::plan::Condition;
use crate::experiments::point::{At, Scalar};
use crate::experiments::store::{Made, Store};

#[test]
fn an_interrupted_run_goes_on_from_every_point() {
    let experiment = toy_plan();
    let all = experiment.points(false).len();
    assert_eq!(all, 6);
    for end_after in 0..all {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let mut first = Toy {
            end_after,
            ..Toy::new(1.4)
        };
        let (ran, _) = run(&store, &experiment, &mut first, made());
        assert!(ran.interrupted && ran.points.len() == end_after);
        // Half a file, as a machine that lost power leaves it, is no point.
        let torn = store
            .folder("toy")
            .join("points/model=pipeline,size=256.json");
        std::fs::create_dir_all(torn.parent().unwrap()).unwrap();
        std::fs::write(&torn, "{\"at\":").unwrap();
        let mut second = Toy::new(1.4);
        let (ran, said) = run(&store, &experiment, &mut second, made());
        assert!(!ran.interrupted && ran.points.len() == all);
        assert_eq!((ran.kept, second.measured), (end_after, all - end_after));
        let told = said.iter().any(|line| line.contains("were there already"));
        assert_eq!(told, end_after > 0, "{said:?}");
        let order: Vec<&At> = ran.points.iter().map(|point| &point.at).collect();
        assert_eq!(order, experiment.points(false).iter().collect::<Vec<_>>());
    }
}
#[test]
fn what_another_program_machine_or_plan_measured_is_measured_again() {
    let experiment = toy_plan();
    let mut changed = experiment.clone();
    changed
        .held
        .insert("seconds".to_owned(), Scalar::Number(2.0));
    let others = [
        (
            experiment.clone(),
            Made {
                binary: "another".to_owned(),
                ..made()
            },
            "another program",
        ),
        (
            experiment.clone(),
            Made {
                machine: "another".to_owned(),
                ..made()
            },
            "another machine",
        ),
        (
            experiment.clone(),
            Made {
                quick: true,
                ..made()
            },
            "--quick",
        ),
        (changed, made(), "the experiment changed"),
    ];
    for (plan, other, why) in others {
        let (folder, mut toy) = (tempfile::tempdir().unwrap(), Toy::new(1.4));
        let store = Store::new(folder.path());
        run(&store, &experiment, &mut toy, made());
        let mut toy = Toy::new(1.4);
        let (ran, said) = run(&store, &plan, &mut toy, other);
        assert_eq!((ran.kept, toy.measured), (0, 6), "{why}");
        let told = said
            .iter()
            .filter(|line| line.contains("measured again") && line.contains(why));
        assert_eq!(told.count(), 1, "{said:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    // Words and limits of a plan decide nothing about its figures.
    let (last, mut toy) = (made(), Toy::new(1.4));
    let mut words = experiment.clone();
    run(&store, &words, &mut toy, last.clone());
    words.title = "Other words".to_owned();
    words.expectations[0].at_least = Some(1.1);
    let (ran, _) = run(&store, &words, &mut toy, last);
    assert_eq!((ran.kept, toy.measured), (6, 6));
}
#[test]
fn what_does_not_hold_at_first_is_measured_twice_more_and_all_of_it_counts() {
    let experiment = toy_plan();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let mut toy = Toy {
        slow: 6,
        ..Toy::new(1.4)
    };
    let (ran, said) = run(&store, &experiment, &mut toy, made());
    assert_eq!(toy.measured, 6 + 2 * 6);
    assert!(said.iter().any(|l| l.contains("does not hold")), "{said:?}");
    let verdicts = judge(&experiment, &ran.points, &[]);
    assert!(verdicts.iter().all(|v| v.passed), "{verdicts:?}");
    assert!(
        verdicts[0].note.contains("measured 3 times"),
        "{verdicts:?}"
    );
    let rtc = ran
        .points
        .iter()
        .find(|p| p.at["model"] == Scalar::Text("rtc".to_owned()));
    let rate = rtc.unwrap().measured.series["mpps"];
    assert_eq!(rate.repeats, 9);
    assert!(
        rate.min < 9.0 && (rate.median - 13.936).abs() < 1e-9,
        "{rate:?}"
    );

    // What does not hold after that is said, and not measured again and again.
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let mut toy = Toy::new(1.1);
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!(toy.measured, 18);
    assert!(!judge(&experiment, &ran.points, &[])[0].passed);
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!((ran.kept, toy.measured), (6, 18));
}
#[test]
fn expectations_hold_and_fail_as_they_should() {
    let experiment = toy_plan();
    let judged = |rtc: f64| {
        let folder = tempfile::tempdir().unwrap();
        let (ran, _) = run(
            &Store::new(folder.path()),
            &experiment,
            &mut Toy::new(rtc),
            made(),
        );
        judge(&experiment, &ran.points, &[])
    };
    let good = judged(1.4);
    assert!(good.iter().all(|v| v.passed), "{good:?}");
    let bad = judged(1.1);
    assert!(!bad[0].passed && bad[1].passed, "{bad:?}");
    assert!(
        bad[0].note.contains("the worst, at size=64; 0 of 3 hold"),
        "{}",
        bad[0].note
    );
    assert_eq!(bad[0].expected, ">= 1.2");
    // Nothing measured is nothing that holds.
    let nothing = judge(&experiment, &[], &[]);
    assert!(nothing.iter().all(|v| !v.passed && v.ours.is_none()));
    // A selection of several values without a word on what becomes of them.
    let mut vague = experiment.clone();
    vague.expectations[0].for_each.clear();
    let folder = tempfile::tempdir().unwrap();
    let (ran, _) = run(
        &Store::new(folder.path()),
        &vague,
        &mut Toy::new(2.0),
        made(),
    );
    let verdict = &judge(&vague, &ran.points, &[])[0];
    assert!(
        !verdict.passed && verdict.note.contains("say `reduce`"),
        "{verdict:?}"
    );
}

#[test]
fn what_a_run_did_not_come_to_is_not_judged() {
    let experiment = toy_plan();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let outcomes = |ran: &crate::experiments::run::Ran| -> Vec<ExpectationResult> {
        let verdicts = judge(&experiment, &ran.points, &ran.missing);
        verdicts.iter().map(|v| v.outcome).collect()
    };
    let mut toy = Toy {
        end_after: 0,
        ..Toy::new(1.4)
    };
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!(ran.missing, experiment.points(false));
    assert_eq!(outcomes(&ran), [ExpectationResult::NotJudged; 2]);
    // All of rtc is there, one of the pipeline is not.
    toy.end_after = 5;
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!(ran.missing.len(), 1);
    assert_eq!(
        outcomes(&ran),
        [ExpectationResult::NotJudged, ExpectationResult::Passed]
    );
    toy.end_after = usize::MAX;
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!(outcomes(&ran), [ExpectationResult::Passed; 2]);
    // An end while doubtful points are measured again: nothing is said of them yet.
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let mut toy = Toy {
        end_after: 7,
        ..Toy::new(1.1)
    };
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert!(ran.interrupted && ran.points.len() == 6);
    assert_eq!(
        outcomes(&ran),
        [ExpectationResult::NotJudged, ExpectationResult::NotJudged]
    );
}

#[test]
fn what_a_machine_does_not_show_is_not_judged_there_and_says_why() {
    let mut experiment = toy_plan();
    let condition = |at_least: f64| Condition {
        left: experiment.expectations[0].left.clone(),
        right: None,
        at_least: Some(at_least),
        at_most: None,
        otherwise: "the machine is slow".to_owned(),
    };
    let (met, unmet) = (condition(9.0), condition(1000.0));
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    // Below what is expected, which nobody measures again where it is not judged.
    let mut toy = Toy::new(1.1);
    experiment.expectations[0].judged_if = vec![met.clone(), unmet];
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!(toy.measured, 6);
    let verdict = judge(&experiment, &ran.points, &ran.missing).swap_remove(0);
    assert_eq!(
        (verdict.passed, verdict.outcome),
        (false, ExpectationResult::NotHere)
    );
    assert_eq!(verdict.note, "not judged here: the machine is slow");
    experiment.expectations[0].judged_if = vec![met];
    let verdict = judge(&experiment, &ran.points, &ran.missing).swap_remove(0);
    assert_eq!(verdict.outcome, ExpectationResult::Failed);
}

#[test]
fn disturbed_points_are_named_and_measured_anew_when_that_is_asked_for() {
    let experiment = toy_plan();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let mut toy = Toy {
        disturbed: true,
        end_after: 4,
        ..Toy::new(1.4)
    };
    run(&store, &experiment, &mut toy, made());
    (toy.disturbed, toy.end_after) = (false, usize::MAX);
    let outcomes = |ran: &crate::experiments::run::Ran| -> Vec<ExpectationResult> {
        let verdicts = judge(&experiment, &ran.points, &[]);
        verdicts.iter().map(|v| v.outcome).collect()
    };
    let (ran, _) = run(&store, &experiment, &mut toy, made());
    assert_eq!((ran.kept, toy.measured), (4, 6));
    // Some of the points were quiet.
    assert_eq!(outcomes(&ran), [ExpectationResult::Passed; 2]);
    let mut all = ran.clone();
    for point in &mut all.points {
        point.measured.disturbed = Some("others".to_owned());
    }
    assert_eq!(outcomes(&all), [ExpectationResult::PassedDisturbed; 2]);
    let (ran, said) = run_again(&store, &experiment, &mut toy, made(), true);
    assert_eq!((ran.kept, toy.measured), (2, 10));
    assert!(
        said.iter().any(|line| line.contains("4 points left")),
        "{said:?}"
    );
    assert!(ran.points.iter().all(|p| p.measured.disturbed.is_none()));
    let (ran, _) = run_again(&store, &experiment, &mut toy, made(), true);
    assert_eq!((ran.kept, toy.measured), (6, 10));
}
