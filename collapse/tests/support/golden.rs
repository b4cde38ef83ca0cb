//! Golden files: what an output must be, byte for byte.

use std::path::Path;

/// Compares `actual` with the golden file. With `STACKCLOCK_BLESS=1` in the environment the file is written
/// instead; without it a file that is missing fails.
pub fn assert_golden(file: &Path, actual: &str) {
    const BLESS: &str = "run with STACKCLOCK_BLESS=1 to write it, then look at the difference";
    if std::env::var_os("STACKCLOCK_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, actual).unwrap();
        return;
    }
    let shown = file.display();
    let expected = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{shown}: {error}; {BLESS}"));
    for (number, (expected, actual)) in expected.lines().zip(actual.lines()).enumerate() {
        assert_eq!(expected, actual, "{shown}:{}: differs; {BLESS}", number + 1);
    }
    assert!(expected == actual, "{shown}: the number of lines or the last line end differs; {BLESS}");
}
