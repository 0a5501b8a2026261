//! Runs: interrupted, taken up, judged.

use super::Scene;
use crate::experiments::expect::{ExpectationResult as Outcome, judge};
use crate::experiments::plan::Condition;
use crate::experiments::point::{At, Scalar};

#[test]
fn an_interrupted_run_goes_on_from_every_point() {
    for end_after in 0..6 {
        let mut scene = Scene::new(1.4);
        scene.toy.end_after = end_after;
        let ran = scene.run();
        assert!(ran.interrupted && ran.points.len() == end_after);
        // Half a file, as a machine that lost power leaves it, is no point.
        let folder = scene.store.folder("toy").join("points");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("model=pipeline,size=256.json"), "{\"at\":").unwrap();
        scene.toy.end_after = usize::MAX;
        let ran = scene.run();
        assert!(!ran.interrupted && ran.points.len() == 6);
        assert_eq!((ran.kept, scene.toy.measured), (end_after, 6));
        let told = scene.has_said(&["were there already"]) > 0;
        assert_eq!(told, end_after > 0, "{:?}", scene.said);
        let order: Vec<At> = ran.points.into_iter().map(|point| point.at).collect();
        assert_eq!(order, scene.experiment.points(false));
    }
}

#[test]
fn what_another_program_machine_or_plan_measured_is_measured_again() {
    type Change = fn(&mut Scene);
    let changes: [(&str, Change); 4] = [
        ("another program", |s| s.made.binary = "another".to_owned()),
        ("another machine", |s| s.made.machine = "another".to_owned()),
        ("--quick", |s| s.made.quick = true),
        ("the experiment changed", |s| {
            let seconds = ("seconds".to_owned(), Scalar::Number(2.0));
            s.experiment.held.extend([seconds]);
        }),
    ];
    for (why, change) in changes {
        let mut scene = Scene::new(1.4);
        scene.run();
        change(&mut scene);
        let ran = scene.run();
        assert_eq!((ran.kept, scene.toy.measured), (0, 12), "{why}");
        assert_eq!(scene.has_said(&["measured again", why]), 1, "{why}");
    }
    // Words and limits of a plan decide nothing about its figures.
    let mut scene = Scene::new(1.4);
    scene.run();
    scene.experiment.title = "Other words".to_owned();
    scene.experiment.expectations[0].at_least = Some(1.1);
    assert_eq!((scene.run().kept, scene.toy.measured), (6, 6));
}

#[test]
fn what_does_not_hold_at_first_is_measured_twice_more_and_all_of_it_counts() {
    let mut scene = Scene::new(1.4);
    scene.toy.slow = 6;
    let ran = scene.run();
    assert_eq!(scene.toy.measured, 6 + 2 * 6);
    assert_eq!(scene.has_said(&["does not hold"]), 1, "{:?}", scene.said);
    let verdicts = scene.judge(&ran);
    assert!(verdicts.iter().all(|v| v.passed), "{verdicts:?}");
    let note = &verdicts[0].note;
    assert!(note.contains("measured 3 times"), "{note}");
    let is_rtc = |at: &At| at["model"] == Scalar::Text("rtc".to_owned());
    let rtc = ran.points.iter().find(|p| is_rtc(&p.at)).unwrap();
    let rate = rtc.measured.series["mpps"];
    assert!(rate.repeats == 9 && rate.min < 9.0, "{rate:?}");
    assert!((rate.median - 13.936).abs() < 1e-9, "{rate:?}");

    // What does not hold after that is said, and not measured again and again.
    let mut scene = Scene::new(1.1);
    let ran = scene.run();
    assert_eq!(scene.toy.measured, 18);
    assert!(!scene.judge(&ran)[0].passed);
    assert_eq!((scene.run().kept, scene.toy.measured), (6, 18));
}

#[test]
fn expectations_hold_and_fail_as_they_should() {
    let judged = |rtc: f64| {
        let mut scene = Scene::new(rtc);
        let ran = scene.run();
        scene.judge(&ran)
    };
    assert!(judged(1.4).iter().all(|v| v.passed));
    let bad = judged(1.1);
    assert!(!bad[0].passed && bad[1].passed, "{bad:?}");
    let note = &bad[0].note;
    assert!(
        note.contains("the worst, at size=64; 0 of 3 hold"),
        "{note}"
    );
    assert_eq!(bad[0].expected, ">= 1.2");
    // Nothing measured is nothing that holds.
    let mut vague = Scene::new(2.0);
    let nothing = judge(&vague.experiment, &[], &[]);
    assert!(nothing.iter().all(|v| !v.passed && v.ours.is_none()));
    // A selection of several values without a word on what becomes of them.
    vague.experiment.expectations[0].for_each.clear();
    let ran = vague.run();
    let verdict = &vague.judge(&ran)[0];
    assert!(!verdict.passed && verdict.note.contains("say `reduce`"));
}

#[test]
fn what_a_run_did_not_come_to_is_not_judged() {
    let mut scene = Scene::new(1.4);
    // None; all of rtc and all but one of the pipeline; all.
    for (end_after, missing, outcomes) in [
        (0, 6, [Outcome::NotJudged; 2]),
        (5, 1, [Outcome::NotJudged, Outcome::Passed]),
        (usize::MAX, 0, [Outcome::Passed; 2]),
    ] {
        scene.toy.end_after = end_after;
        let ran = scene.run();
        assert_eq!(ran.missing.len(), missing);
        assert_eq!(scene.outcomes(&ran), outcomes);
    }
    // An end while doubtful points are measured again: nothing is said of them yet.
    let mut scene = Scene::new(1.1);
    scene.toy.end_after = 7;
    let ran = scene.run();
    assert!(ran.interrupted && ran.points.len() == 6);
    assert_eq!(scene.outcomes(&ran), [Outcome::NotJudged; 2]);
}

#[test]
fn what_a_machine_does_not_show_is_not_judged_there_and_says_why() {
    // Below what is expected, which nobody measures again where it is not judged.
    let mut scene = Scene::new(1.1);
    let left = scene.experiment.expectations[0].left.clone();
    let [met, unmet] = [9.0, 1000.0].map(|at_least| Condition {
        left: left.clone(),
        right: None,
        at_least: Some(at_least),
        at_most: None,
        otherwise: "the machine is slow".to_owned(),
    });
    scene.experiment.expectations[0].judged_if = vec![met.clone(), unmet];
    let ran = scene.run();
    assert_eq!(scene.toy.measured, 6);
    let verdict = &scene.judge(&ran)[0];
    assert_eq!((verdict.passed, verdict.outcome), (false, Outcome::NotHere));
    assert_eq!(verdict.note, "not judged here: the machine is slow");
    scene.experiment.expectations[0].judged_if = vec![met];
    assert_eq!(scene.outcomes(&ran)[0], Outcome::Failed);
}

/// Others had the CPU: only points that nothing disturbed let an expectation fail.
#[test]
fn what_fails_by_disturbed_points_alone_is_not_judged() {
    let mut scene = Scene::new(1.1);
    let mut ran = scene.run();
    assert_eq!(scene.outcomes(&ran)[0], Outcome::Failed);
    let last = ran.points[5].at["size"].clone();
    for point in &mut ran.points {
        let is_last = point.at["size"] == last;
        point.measured.disturbed = (!is_last).then(|| "others".to_owned());
    }
    // Two of three ratios are disturbed, and the third fails as well.
    assert_eq!(scene.outcomes(&ran)[0], Outcome::Failed);
    // One of the two points of a ratio is enough to doubt it.
    let of_last = ran.points.iter_mut().find(|point| point.at["size"] == last);
    of_last.unwrap().measured.disturbed = Some("others".to_owned());
    let verdict = &scene.judge(&ran)[0];
    let expected = (false, Outcome::FailedDisturbed);
    assert_eq!((verdict.passed, verdict.outcome), expected);
    // What passes is said to have passed.
    assert_eq!(scene.outcomes(&ran)[1], Outcome::PassedDisturbed);
    // Disturbed so much that there is nothing to compare.
    for point in &mut ran.points {
        point.measured.series.clear();
    }
    assert_eq!(scene.outcomes(&ran), [Outcome::FailedDisturbed; 2]);
    for point in &mut ran.points {
        point.measured.disturbed = None;
    }
    assert_eq!(scene.outcomes(&ran), [Outcome::Failed; 2]);
}

#[test]
fn disturbed_points_are_named_and_measured_anew_when_that_is_asked_for() {
    let mut scene = Scene::new(1.4);
    (scene.toy.disturbed, scene.toy.end_after) = (true, 4);
    scene.run();
    (scene.toy.disturbed, scene.toy.end_after) = (false, usize::MAX);
    let ran = scene.run();
    assert_eq!((ran.kept, scene.toy.measured), (4, 6));
    // Some of the points were quiet.
    assert_eq!(scene.outcomes(&ran), [Outcome::Passed; 2]);
    let mut all = ran.clone();
    for point in &mut all.points {
        point.measured.disturbed = Some("others".to_owned());
    }
    assert_eq!(scene.outcomes(&all), [Outcome::PassedDisturbed; 2]);
    scene.again_disturbed = true;
    for (kept, measured) in [(2, 10), (6, 10)] {
        let ran = scene.run();
        assert_eq!((ran.kept, scene.toy.measured), (kept, measured));
        assert_eq!(scene.has_said(&["4 points left"]), usize::from(kept == 2));
        assert!(ran.points.iter().all(|p| p.measured.disturbed.is_none()));
    }
}
