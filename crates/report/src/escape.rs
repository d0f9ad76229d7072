//! Text from outside, made harmless for the document that it goes into.
//!
//! Workflow names, owners and reasons come from telemetry and from users' files. Every one of them
//! passes through here (or through the template engine's own HTML escaping) before it is printed.

/// Escapes text for XML element content and quoted attributes, and drops what XML 1.0 forbids.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Escapes text for one line or one table cell of GitHub-flavoured Markdown.
///
/// Line breaks become spaces. An underscore between two word characters is left alone, since it
/// starts no emphasis there and names such as `input_tokens` are to stay readable.
pub(crate) fn markdown(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let word = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(|c| c.is_alphanumeric());
    let mut out = String::with_capacity(text.len());
    for (i, &c) in chars.iter().enumerate() {
        match c {
            '_' if word(i.checked_sub(1)) && word(Some(i + 1)) => out.push('_'),
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Text as a Markdown code span, fenced by more backticks than the text holds in a row.
pub(crate) fn markdown_code(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    // A pipe ends a table cell even inside a code span unless it is escaped.
    format!("{fence}{pad}{}{pad}{fence}", line.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the page against names that carry markup.
    #[test]
    fn xml_leaves_no_markup() {
        assert_eq!(xml("<b a='1' c=\"2\">&\u{0}"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp; ");
    }

    /// Protects Markdown tables: a pipe or a line break in a name may not break the row.
    #[test]
    fn markdown_keeps_a_cell_a_cell() {
        assert_eq!(markdown("a|b\nc"), "a\\|b c");
        assert_eq!(markdown("input_tokens _x_"), "input_tokens \\_x\\_");
        assert_eq!(markdown("<script>"), "&lt;script&gt;");
    }

    /// Protects commands in code spans: backticks inside may not end the span.
    #[test]
    fn code_fences_outgrow_their_text() {
        assert_eq!(markdown_code("plain"), "`plain`");
        assert_eq!(markdown_code("a``b|c"), "```a``b\\|c```");
        assert_eq!(markdown_code("`x"), "`` `x ``");
    }
}
