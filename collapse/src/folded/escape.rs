//! The backslash forms of folded text: see the [module](super).

/// Appends `text` to `line` in its written form.
pub(super) fn push_escaped(line: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            ';' => line.push_str("\\x3b"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '#' if line.is_empty() => line.push_str("\\x23"),
            c => line.push(c),
        }
    }
}

/// The text whose written form this is.
pub(super) fn unescape(written: &str) -> String {
    const FORMS: [(&str, char); 5] = [("\\", '\\'), ("x3b", ';'), ("n", '\n'), ("r", '\r'), ("x23", '#')];
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        match FORMS.iter().find_map(|(form, c)| Some((after.strip_prefix(form)?, c))) {
            Some((after, c)) => {
                text.push(*c);
                rest = after;
            }
            None => {
                text.push('\\');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_survives() {
        for text in ["", "#", "# x", "a;b", "\\x3b", "\\\\;", "a\nb\r", "[u8; 4]", "λ \\", "trailing ", " "]
        {
            let mut written = String::new();
            push_escaped(&mut written, text);
            assert!(!written.contains([';', '\n', '\r']) && !written.starts_with('#'), "{written}");
            assert_eq!(unescape(&written), text);
        }
    }

    #[test]
    fn backslashes_of_other_tools_stay() {
        assert_eq!(unescape("a\\b\\"), "a\\b\\");
    }
}
