//! What is told: reports, files, plots that can be read.

use super::{Toy, anything, made, run, toy_plan};
use crate::experiments::plan::{Kind, embedded};
use crate::experiments::plot::{Blot, Figure, figure, png, svg};
use crate::experiments::point::{At, Mark};
use crate::experiments::report::{ReportInput, Run, State, csv, html, json};
use crate::experiments::run::Ran;
use crate::experiments::store::Store;

#[test]
fn what_cannot_be_run_yet_never_passes_and_failures_are_told() {
    let not_yet = embedded(&anything)
        .unwrap()
        .into_iter()
        .find(|one| one.name == "a-translation");
    let told = ReportInput::of(&not_yet.unwrap(), None);
    assert_eq!(
        (told.state, told.passed(), told.failing().len()),
        (State::NotYet, 0, 0)
    );
    let experiment = toy_plan();
    let failed = Ran {
        failed: vec![(At::new(), "it burnt".to_owned())],
        ..Ran::default()
    };
    let partly = ReportInput::of(&experiment, Some(&failed));
    assert_eq!((partly.state, partly.failing().len()), (State::Partly, 2));
    let all = json(&Run::default(), &[told.clone(), partly.clone()]);
    assert_eq!(all["experiments"][0]["state"], "not_yet");
    assert_eq!(all["experiments"][1]["expectations_failed"], 2);
    assert_eq!(all["expectations_failed"], 2);
    let page = html(&Run::default(), &[told, partly]);
    for words in [
        "not yet",
        "it burnt",
        "A toy &amp; its &lt;parts&gt;",
        "FAILED",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for outside in ["http://", "https://", "<script", "<img", "src="] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(outside), "{outside}");
    }
}
#[test]
fn the_report_says_how_the_run_is_repeated_and_what_nobody_judged() {
    let experiment = toy_plan();
    let cut = Ran {
        missing: experiment.points(false),
        interrupted: true,
        ..Ran::default()
    };
    let told = ReportInput::of(&experiment, Some(&cut));
    assert_eq!((told.failing().len(), told.not_judged().len()), (0, 2));
    let mut run = Run {
        options: Some(" --plans 'my plans' --quick --out /tmp/x".to_owned()),
        command: "sluice lab run all".to_owned(),
        ..Run::default()
    };
    let all = json(&run, std::slice::from_ref(&told));
    assert_eq!(all["expectations_not_judged"], 2);
    assert_eq!(all["expectations_failed"], 0);
    assert_eq!(
        all["experiments"][0]["expectations"][0]["outcome"],
        "not_judged"
    );
    let page = html(&run, std::slice::from_ref(&told));
    for words in [
        "Again: <code>sluice lab run toy --plans 'my plans' --quick --out /tmp/x</code>",
        "2 not judged",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("FAILED"));
    // As older runs are: what was typed then.
    run.options = None;
    assert!(html(&run, &[told]).contains("Again: <code>sluice lab run all</code>"));
}
#[test]
fn results_are_kept_for_scripts_and_people() {
    let (experiment, folder) = (toy_plan(), tempfile::tempdir().unwrap());
    let store = Store::new(folder.path());
    let (ran, _) = run(&store, &experiment, &mut Toy::new(1.4), made());
    let told = ReportInput::of(&experiment, Some(&ran));
    let blot = told.keep(&store).unwrap();
    let text = csv(&experiment, &ran.points);
    assert_eq!(text.lines().count(), 7);
    assert!(text.starts_with("size,model,series,unit,how,min,median,max,repeats,disturbed\r\n"));
    assert!(text.contains("64,rtc,mpps,Mpps,measured,12.5"), "{text}");
    // What the plan does not ask for has the unit that the runner says.
    let mut other = experiment.clone();
    (other.gives, other.series) = (other.series.clone(), vec![]);
    assert_eq!(csv(&other, &ran.points), text);
    for file in [
        "result.json",
        "result.csv",
        "plan.json",
        "rate.svg",
        "bars.svg",
    ] {
        assert!(store.folder("toy").join(file).exists(), "{file}");
    }
    assert_eq!(
        store.folder("toy").join("rate.png").exists(),
        blot.is_none()
    );
    assert_eq!(store.plan("toy").unwrap(), experiment);
    assert_eq!(store.points(&experiment, false), ran.points);
    let page = html(&Run::default(), &[told]);
    assert!(page.contains("<svg") && page.contains("1.3 to 1.4"));
}
/// Every kind of plot, with long names, many curves, marks close together, one point, and none.
fn figures() -> Vec<Figure> {
    let experiment = toy_plan();
    let folder = tempfile::tempdir().unwrap();
    let (ran, _) = run(
        &Store::new(folder.path()),
        &experiment,
        &mut Toy::new(1.4),
        made(),
    );
    let mut all: Vec<Figure> = experiment
        .plots
        .iter()
        .filter_map(|plot| figure(&experiment, plot, &ran.points))
        .collect();
    assert_eq!(all.len(), 2);
    let mut points = ran.points.clone();
    for point in &mut points {
        let curve = (0..400)
            .map(|n| [f64::from(n) / 100.0, f64::from(n % 37)])
            .collect();
        point.measured.curves.insert("rate".to_owned(), curve);
        let steps = [0.0, 1.0, 1.1, 2.0, 3.0].map(|at| (at, "load 21 %", true));
        let moments =
            [1.0, 1.01].map(|at| (at, "sessions begin to move to the second worker", false));
        let marks = steps.into_iter().chain(moments);
        let marks = marks.map(|(at, says, is_step)| Mark {
            at,
            says: says.to_owned(),
            is_step,
        });
        point.measured.marks = marks.collect();
    }
    let mut plot = experiment.plots[0].clone();
    (plot.kind, plot.y, plot.y_says) = (
        Kind::Timeline,
        vec!["rate".to_owned(); 2],
        vec!["rate (Mpps)".to_owned(); 2],
    );
    (plot.x, plot.log_x) = ("time (s)".to_owned(), false);
    all.extend(figure(&experiment, &plot, &points[..1]));
    let mut plot = experiment.plots[0].clone();
    plot.log_y = true;
    plot.title =
        "Behaviour under a load that is raised in steps, with a title that is long".to_owned();
    all.extend(figure(&experiment, &plot, &points[..1]));
    all.extend(figure(&experiment, &plot, &points));
    assert!(figure(&experiment, &plot, &[]).is_none());
    assert_eq!(all.len(), 5);
    all
}
#[test]
fn plots_can_be_read() {
    for figure in figures() {
        let drawn = svg(&figure).unwrap();
        let tree = match crate::experiments::plot::tree(&drawn) {
            Err(Blot::NoFont) => {
                println!("skipped: no font to measure text with");
                return;
            }
            tree => tree.unwrap(),
        };
        let boxes = text_boxes(tree.root());
        assert!(boxes.len() >= 7, "{}: {} texts", figure.title, boxes.len());
        let (width, height) = (tree.size().width(), tree.size().height());
        for (n, one) in boxes.iter().enumerate() {
            let inside =
                one.1[0] >= 0.0 && one.1[1] >= 0.0 && one.1[2] <= width && one.1[3] <= height;
            assert!(inside, "{}: {one:?} leaves the picture", figure.title);
            for other in &boxes[n + 1..] {
                assert!(
                    !overlap(&one.1, &other.1),
                    "{}: {one:?} over {other:?}",
                    figure.title
                );
            }
        }
        let png = png(&drawn).unwrap();
        assert_eq!(png[..8], [0x89, b'P', b'N', b'G', 13, 10, 26, 10]);
        let decoded = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        let colours: std::collections::HashSet<_> = decoded
            .pixels()
            .iter()
            .map(|p| (p.red(), p.green(), p.blue()))
            .collect();
        assert!(
            decoded.width() > 1000 && colours.len() > 5,
            "{}",
            figure.title
        );
    }
}
fn text_boxes(group: &resvg::usvg::Group) -> Vec<(String, [f32; 4])> {
    let mut all = vec![];
    for node in group.children() {
        match node {
            resvg::usvg::Node::Group(group) => all.extend(text_boxes(group)),
            resvg::usvg::Node::Text(text) => {
                let b = text.abs_bounding_box();
                let words: String = text.chunks().iter().map(|chunk| chunk.text()).collect();
                all.push((words, [b.left(), b.top(), b.right(), b.bottom()]));
            }
            _ => {}
        }
    }
    all
}
fn overlap(a: &[f32; 4], b: &[f32; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}
