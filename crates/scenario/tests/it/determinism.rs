//! The same file, options and seed give the same bytes.

use plimsoll_scenario::{Options, Scenario};
use prost::Message;

fn bytes(seed: u64) -> Vec<u8> {
    let options = Options { days: Some(2), seed: Some(seed), scale: 0.2, ..Options::default() };
    let requests = Scenario::insurer().unwrap().generate(options).unwrap();
    requests.flat_map(|request| request.encode_to_vec()).collect()
}

/// Protects reproducible examples, plans and bug reports: nothing but the seed decides.
#[test]
fn a_seed_decides_every_byte() {
    let first = bytes(7);
    assert!(first.len() > 100_000);
    assert_eq!(first, bytes(7));
    assert_ne!(first, bytes(8));
}

/// Protects comparisons: what a workflow draws does not hang on its neighbours, only on the limits
/// that they share.
#[test]
fn a_workflow_keeps_its_draws_when_another_changes() {
    let text = plimsoll_scenario::INSURER;
    let changed = text.replace("queued = 150", "queued = 50");
    assert_ne!(text, changed);
    let copilot = |text: &str| -> Vec<u8> {
        let options = Options { days: Some(1), ..Options::default() };
        let requests = Scenario::parse(text).unwrap().generate(options).unwrap();
        let resources = requests.flat_map(|request| request.resource_spans);
        let copilot = resources.filter(|resource| {
            let attributes = &resource.resource.as_ref().unwrap().attributes;
            super::company::text(attributes, "service.name").unwrap() == "support-copilot"
        });
        copilot
            .flat_map(|resource| resource.scope_spans)
            .flat_map(|scope| scope.spans)
            .flat_map(|span| span.trace_id)
            .collect()
    };
    let mut before: Vec<[u8; 16]> = copilot(text).as_chunks().0.to_vec();
    let mut after: Vec<[u8; 16]> = copilot(&changed).as_chunks().0.to_vec();
    before.sort_unstable();
    after.sort_unstable();
    assert_eq!(before, after);
}

/// Protects users of options that name nothing to play.
#[test]
fn impossible_options_are_refused() {
    let insurer = Scenario::insurer().unwrap();
    assert!(insurer.generate(Options { days: Some(0), ..Options::default() }).is_err());
    assert!(insurer.generate(Options { days: Some(4_000_000), ..Options::default() }).is_err());
    assert!(insurer.generate(Options { scale: f64::NAN, ..Options::default() }).is_err());
    assert!(
        insurer
            .generate(Options { from: Some(jiff::civil::date(1969, 1, 1)), ..Options::default() })
            .is_err()
    );
}

/// Protects senders: requests can be made on a thread of their own.
#[test]
fn a_generator_moves_between_threads() {
    let requests =
        Scenario::insurer().unwrap().generate(Options { days: Some(1), ..Options::default() }).unwrap();
    assert!(std::thread::spawn(move || requests.count()).join().unwrap() > 1);
}
