//! Numbers as people read them.

/// `part` of `whole` in percent; of nothing it is 0 %.
pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// `1 line`, `2 lines`.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_nothing_is_no_percentage() {
        assert_eq!(percent(0.0, 0.0), 0.0);
        assert_eq!(percent(1.0, 4.0), 25.0);
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|count| plural(count, "line", "lines")), ["0 lines", "1 line", "2 lines"]);
    }
}
