//! A call as people type it: what is read, and what could not have happened.

use plimsoll_catalog::{Call, Tier};

fn said(call: &str) -> String {
    call.parse::<Call>().map_or_else(|error| error.to_string(), |call| format!("{call:?}"))
}

/// Protects every key, the total in place of the uncached part, and blanks between.
#[test]
fn every_key_is_read() {
    let text = "input=1, audio=2,cache_read=3,audio_cache_read=4,cache_write=5,cache_write_1h=6,output=30,\
                reasoning=7,output_audio=8,output_image=9,max=40,status=200";
    let call: Call = text.parse().unwrap();
    assert_eq!((call.input(), call.billed_tokens()), (21, 51));
    assert_eq!((call.output, call.reasoning, call.max_output, call.status), (30, 7, Some(40), Some(200)));
    let total: Call = "total_input=21,audio=2,cache_read=3,audio_cache_read=4,cache_write=5,cache_write_1h=6"
        .parse()
        .unwrap();
    assert_eq!(total.input_uncached, 1);
    assert_eq!("".parse::<Call>().unwrap(), Call::default(), "an empty call draws its request");
}

/// Protects against calls that cannot have happened: each is one plain sentence.
#[test]
fn impossible_calls_are_refused() {
    for (call, remedy) in [
        ("input", "is no `key=value`"),
        ("inptu=1", "did you mean `input`?"),
        ("input=1,input=2", "stands twice"),
        ("input=-1", "a whole number of tokens, 0 or more"),
        ("input=1.5", "a whole number of tokens"),
        ("input=1e3", "a whole number of tokens"),
        ("input=9223372036854775808", "a whole number of tokens"),
        ("output=5,reasoning=6", "reasoning is 6, above output 5"),
        ("output=5,reasoning=3,output_audio=3", "above output 5"),
        ("output=5,max=4", "output is 5, above max 4"),
        ("cache_read=11,total_input=10", "above total_input 10"),
        ("input=5,cache_read=5,total_input=11", "not both"),
        ("status=42", "100 to 599"),
    ] {
        let said = said(call);
        assert!(said.contains(remedy) && !said.contains('\n'), "{call}: {said}");
    }
}

/// Protects the names of tiers: ours and the providers' own; a typo is answered.
#[test]
fn tiers_have_the_names_of_providers_too() {
    for (name, tier) in [
        ("standard", Tier::Standard),
        ("default", Tier::Standard),
        ("fast", Tier::Priority),
        ("flex", Tier::Flex),
    ] {
        assert_eq!(name.parse::<Tier>().unwrap(), tier);
    }
    assert!("prioriy".parse::<Tier>().unwrap_err().to_string().contains("did you mean `priority`?"));
}
