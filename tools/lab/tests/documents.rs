//! The page on the lab: the plan that it shows is one.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_plan_of_the_page_is_accepted() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.md");
    let page = fs::read_to_string(page).expect("the page");
    let plan = page.split("```yaml\n").nth(1).expect("a plan");
    let plan = plan.split("```").next().expect("its end");
    assert!(plan.contains("name: imix-models"), "{plan}");
    let folder = tempfile::tempdir().expect("a folder");
    let list = |text: &str| {
        fs::write(folder.path().join("imix-models.yaml"), text).expect("room for it");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-lab"));
        command.args(["list", "--plans"]).arg(folder.path());
        let output = command.output().expect("the program runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (output.status.code(), said)
    };
    let (code, said) = list(plan);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("imix-models"), "{said}");
    let (code, said) = list(&plan.replace("engine_mpps", "engine_speed"));
    assert_eq!(code, Some(2), "{said}");
}
