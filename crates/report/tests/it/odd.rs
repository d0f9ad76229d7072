//! Plans with figures that no planner should give: the report still stands.

use plimsoll_plan::{LimitStep, MetricPlan};
use plimsoll_report::{Templates, render};
use proptest::prelude::*;

use crate::fixture::{measured, plan};

fn failed(error: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Protects charts and tables against zeros, overflow, missing figures and what is no number:
    /// nothing panics, and no such thing is printed.
    #[test]
    fn odd_figures_are_not_printed(
        amounts in prop::array::uniform6(prop_oneof![Just(0_u64), 1_u64..5_000_000, Just(u64::MAX)]),
        share in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(0.0), 0.0..2.0],
        known in any::<bool>(),
        event in any::<bool>(),
    ) {
        let [limit, mean, floor, need, ask, n] = amounts;
        let mut plan = plan().map_err(failed)?;
        for d in plan.pools.iter_mut().flat_map(|p| &mut p.dimensions) {
            d.limit = known.then_some(limit);
            d.limits = vec![LimitStep { from: None, value: limit }];
            (d.mean_demand, d.p95_floor, d.p95_need, d.need, d.n) = (mean, floor, need, need, n);
            d.ask = Some(ask);
            d.utilization_p95 = known.then_some(share);
            d.censored = share;
            if !event {
                (d.event, d.event_start) = (None, None);
            }
        }
        for r in &mut plan.reservations {
            r.utilization = Some(share);
            r.break_even = known.then_some(share);
            r.load_duration = vec![(0.0, share), (share, 3.0), (1.0, 0.0)];
        }
        for w in &mut plan.workflows {
            let odd = MetricPlan { n, mean: share, p50: share, p95: share, p99: share, max: share };
            w.metrics.insert("input_tokens".to_owned(), odd);
        }
        let out = render(&plan, &measured().map_err(failed)?, &Templates::default()).map_err(failed)?;
        for text in [&out.html, &out.markdown] {
            for word in ["NaN", "inf,", "inf\"", "None"] {
                prop_assert!(!text.contains(word), "{} is printed", word);
            }
        }
    }
}
