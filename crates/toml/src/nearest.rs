//! The "did you mean" of every message.

/// The known word that `word` was probably meant to be, if one is near enough to be worth saying.
///
/// Near enough: a Jaro-Winkler similarity of at least 0.8, the usual bound for suggestions.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, known, 1).into_iter().next()
}

/// The end of a message that refuses `word`: `; did you mean ...?`, or nothing where no known word is near.
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// The known words that are near enough, the nearest first, of up to `most`.
pub fn nearest_few<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let mut near: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= 0.8)
        .collect();
    near.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    near.into_iter().map(|(_, candidate)| candidate).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    /// Protects the suggestion itself: a typo finds its word, a stranger finds none.
    #[test]
    fn finds_a_typo_and_nothing_for_a_stranger() {
        let known = ["window_s", "counts", "name"];
        assert_eq!(nearest("windows_s", known), Some("window_s"));
        assert_eq!(nearest("colour", known), None);
    }
}
