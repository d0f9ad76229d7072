//! Samples of traces that are too large.

use plimsoll_backtest::{Request, Requests};
use plimsoll_replay::Micros;
use proptest::prelude::*;

fn requests(sizes: &[usize]) -> Requests {
    let of = |client: usize, size: usize| {
        (0..size).map(move |at| Request {
            at: Micros::seconds(at as u64),
            client: client as u32,
            tier: 0,
            latency: Micros::ZERO,
            input: 1,
            cache_read: 0,
            output: 1,
        })
    };
    let all = sizes.iter().enumerate().flat_map(|(client, size)| of(client, *size)).collect();
    Requests::new("trace", (0..sizes.len()).map(|client| client.to_string()).collect(), all)
}

proptest! {
    /// Protects samples: never more than asked for nor much less, in order of time, the same by seed; what is
    /// few enough is left alone.
    #[test]
    fn samples_are_of_the_size_asked_for(
        sizes in prop::collection::vec(1_usize..60, 1..8),
        most in 1_usize..200,
        seed: u64,
    ) {
        let all = requests(&sizes);
        let sampled = all.clone().sampled(most, seed);
        prop_assert_eq!(&sampled, &all.clone().sampled(most, seed));
        prop_assert!(sampled.requests.len() <= most);
        prop_assert_eq!(sampled.of, all.requests.len() as u64);
        prop_assert!(sampled.requests.is_sorted_by_key(|request| request.at));
        if all.requests.len() <= most {
            prop_assert_eq!(&sampled.requests, &all.requests);
        } else {
            prop_assert!(most < 20 || sampled.requests.len() >= most / 4, "{} of {}", sampled.requests.len(), most);
        }
    }

    /// Protects a client's pattern: where clients are small beside what may stay, those who stay are whole.
    #[test]
    fn small_clients_stay_whole(sizes in prop::collection::vec(1_usize..20, 10..40), seed: u64) {
        let most = 100;
        let sampled = requests(&sizes).sampled(most, seed);
        for (client, size) in sizes.iter().enumerate() {
            let kept = sampled.requests.iter().filter(|of| of.client as usize == client).count();
            prop_assert!(kept == 0 || kept == *size);
        }
    }
}
