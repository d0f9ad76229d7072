//! What is made of ServeGen's clients has the rates, the bursts and the tokens that were measured.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use super::*;

const DATASET: &str = r#"{"0": {"input_tokens": "{100: 0.5, 300: 0.5}", "output_tokens": "{10: 1.0}"},
    "21600": {"input_tokens": "{}", "output_tokens": "{}"}}"#;

fn client(trace: &str) -> Result<ServeGenClient, ReadError> {
    ServeGenClient::read("client", ("trace.csv", trace), ("dataset.json", DATASET))
}

/// A day of one rate and law.
fn day(rate: f64, law: &str, shape: f64) -> Result<ServeGenClient, ReadError> {
    let rows: Vec<String> = (0..144).map(|at| format!("{},{rate},2.0,{law},{shape},1.0", at * 600)).collect();
    client(&rows.join("\n"))
}

/// Variance of counts by the minute over their mean, and the mean.
fn spread(requests: &Requests) -> (f64, f64) {
    let mut counts = vec![0.0; 1440];
    for request in &requests.requests {
        counts[(request.at.0 / 60_000_000) as usize] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / 1440.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 1439.0;
    (mean, variance / mean)
}

/// Closed form: a renewal process of squared variation c has counts of mean rate x time, and their
/// variance is c times as large over times much longer than a gap; for a gamma gap c = 1 / shape.
#[test]
fn rates_and_bursts_are_those_measured() -> Result<(), ReadError> {
    for (law, shape, variation) in [("Gamma", 1.0, 1.0), ("Gamma", 0.25, 4.0), ("Weibull", 0.5, 5.0)] {
        let made = generate("day", &[day(5.0, law, shape)?], usize::MAX, 0, 7);
        let (mean, dispersion) = spread(&made);
        assert!((mean / 300.0 - 1.0).abs() < 0.03, "{law} {shape}: {mean}");
        assert!((dispersion / variation - 1.0).abs() < 0.2, "{law} {shape}: {dispersion} of {variation}");
        let input = made.requests.iter().map(|request| request.input).sum::<u64>() as f64;
        assert!((input / made.requests.len() as f64 / 200.0 - 1.0).abs() < 0.01);
        assert!(made.requests.iter().all(|request| request.output == 10));
    }
    Ok(())
}

/// Fewer are wanted: rates are lowered, and the trace says what it stands for.
#[test]
fn fewer_at_lower_rates() -> Result<(), ReadError> {
    let clients = [day(5.0, "Gamma", 1.0)?, day(2.0, "Weibull", 0.5)?];
    let all = generate("day", &clients, usize::MAX, 0, 7);
    let made = generate("day", &clients, 50_000, 0, 7);
    assert_eq!(made.of, 604_800);
    assert_eq!(all.of as usize, all.requests.len());
    assert!((45_000..50_000).contains(&made.requests.len()), "{}", made.requests.len());
    let first = made.requests.iter().filter(|request| request.client == 0).count() as f64;
    assert!((first / made.requests.len() as f64 - 5.0 / 7.0).abs() < 0.02);
    assert_eq!(made, generate("day", &clients, 50_000, 0, 7));
    assert_ne!(made, generate("day", &clients, 50_000, 0, 8));
    Ok(())
}

/// A client's requests are its own, whoever else is there; stretches without a rate have none.
#[test]
fn clients_do_not_know_each_other() -> Result<(), ReadError> {
    let (one, other) =
        (day(0.5, "Gamma", 1.0)?, client("0,0,0,,0,0\n600,1.0,1.0,Gamma,1.0,1.0\n1200,0,0,,0,0\n")?);
    let alone = generate("one", std::slice::from_ref(&one), usize::MAX, 0, 1);
    let both = generate("both", &[one, other], usize::MAX, 0, 1);
    let of_first: Vec<_> = both.requests.iter().filter(|request| request.client == 0).copied().collect();
    assert_eq!(alone.requests, of_first);
    let within = 600_000_000..1_200_000_000;
    let mut second = both.requests.iter().filter(|request| request.client == 1);
    assert!(second.all(|request| within.contains(&request.at.0)));
    Ok(())
}

/// What ServeGen does not write is refused with its line.
#[test]
fn other_files_are_refused() {
    for (trace, line, hint) in [
        ("", None, "empty"),
        ("0,1,1\n", Some(1), "3 cells"),
        ("0,1,1,Gamma,1,1\nx,1,1,Gamma,1,1\n", Some(2), "no time"),
        ("0,1,1,Pareto,1,1\n", Some(1), "Pareto"),
        ("600,1,1,Gamma,1,1\n0,1,1,Gamma,1,1\n", Some(2), "by time"),
        ("0,1,1,Gamma,0,1\n", Some(1), "shape"),
        ("0,-1,1,Gamma,1,1\n", Some(1), "no rate"),
    ] {
        let error = client(trace).map(|_| ()).unwrap_err();
        assert_eq!((error.file.as_str(), error.line), ("trace.csv", line), "{trace}: {error}");
        assert!(error.problem.contains(hint), "{error}");
    }
    let dataset = |text: &str| ServeGenClient::read("client", ("t.csv", "0,0,0,,0,0"), ("d.json", text));
    for text in ["", "[]", "{}", r#"{"0": {"output_tokens": "{"}}"#, r#"{"x": {"output_tokens": "{1: 1}"}}"#]
    {
        assert!(dataset(text).is_err_and(|error| error.file == "d.json"), "{text}");
    }
}
