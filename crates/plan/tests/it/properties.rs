//! What must hold of every plan.

use proptest::prelude::*;

use crate::world::{CLOSE, SONNET, invoices, measured, plan, stat};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Protects the request: the need is never below the floor and never falls as headroom grows; an
    /// ask covers the need, is above the limit and lands on a step; a quota is never decreased.
    #[test]
    fn asks_cover_needs_and_never_decrease(
        in_flight in 1u64..400,
        mean in 1_000i64..100_000,
        spread in 1u32..40,
        limit in 1u64..12_000_000,
        headroom in 34u64..100,
    ) {
        let mut measured = measured();
        let p95 = mean as f64 * (1.0 + f64::from(spread) / 10.0);
        let mut workflow = invoices();
        for draw in workflow.draws.iter_mut().filter(|draw| draw.measure.ends_with("input_tokens")) {
            draw.per_run = stat(1000, mean, p95.round());
        }
        measured.workflows = vec![workflow];
        let spec = |headroom: u64| CLOSE
            .replace("[policy]\n", &format!("[policy]\nheadroom = \"{headroom}%\"\n"))
            .replace("in_flight = 40", &format!("in_flight = {in_flight}"))
            .replace("input_tokens_per_min = 750000", &format!("input_tokens_per_min = {limit}"));
        let row = |headroom| {
            let plan = plan(&spec(headroom), "", &measured);
            plan.pools.iter().find(|pool| pool.pool == SONNET).unwrap().dimensions
                .iter().find(|row| row.dimension == "input_tokens_per_min").unwrap().clone()
        };
        let (less, more) = (row(headroom), row(headroom + 7));
        prop_assert!(less.mean_demand <= less.p95_floor && less.p95_floor <= less.need && less.need <= more.need);
        prop_assert_eq!(less.ask.is_some(), less.need > limit);
        if let Some(ask) = less.ask {
            prop_assert!(ask >= less.need && ask > limit);
            prop_assert!([2_000_000, 5_000_000, 10_000_000].contains(&ask) || (less.need > 10_000_000 && ask == less.need));
            prop_assert!(less.last_safe >= less.file_by);
        } else {
            prop_assert_eq!(less.decision, "hold");
        }
    }
}
