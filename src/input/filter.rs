//! `--focus` and `--ignore`: samples chosen by the frames in their stacks.

use regex::Regex;
use stackclock_collapse::{Profile, Sample, StackTable};

/// A pattern with its answer for each frame of a profile.
struct StackPattern<'a> {
    pattern: &'a Regex,
    matching_frames: Vec<bool>,
}

impl<'a> StackPattern<'a> {
    fn new(pattern: &'a Regex, profile: &Profile) -> Self {
        let matching_frames =
            profile.frames.values().iter().map(|frame| pattern.is_match(&frame.text())).collect();
        StackPattern { pattern, matching_frames }
    }

    /// Whether any frame matches, the state frame that a writer would add included.
    fn matches(&self, sample: &Sample, stacks: &StackTable) -> bool {
        stacks.leaf_to_root(sample.stack).any(|frame| self.matching_frames[frame.0 as usize])
            || sample.state.frame_name().is_some_and(|state| self.pattern.is_match(&state))
    }
}

/// Drops the samples in which no frame matches `focus` or one matches `ignore`. Their time is a gap then.
pub fn keep_stacks(profile: &mut Profile, focus: Option<&Regex>, ignore: Option<&Regex>) {
    let focus = focus.map(|pattern| StackPattern::new(pattern, profile));
    let ignore = ignore.map(|pattern| StackPattern::new(pattern, profile));
    let stacks = &profile.stacks;
    profile.samples.retain(|sample| {
        focus.as_ref().is_none_or(|focus| focus.matches(sample, stacks))
            && !ignore.as_ref().is_some_and(|ignore| ignore.matches(sample, stacks))
    });
}

#[cfg(test)]
mod tests {
    use stackclock_collapse::folded::{self, Numbers};

    use super::*;

    fn kept(focus: Option<&str>, ignore: Option<&str>) -> Vec<u64> {
        let text = "main;load;read;[blocked: read] 1\nmain;train;gather 2\nmain;train 4\n";
        let mut profile = folded::read(text.as_bytes(), Numbers::Microseconds).unwrap().profile;
        let pattern = |text: &str| Regex::new(text).unwrap();
        keep_stacks(&mut profile, focus.map(pattern).as_ref(), ignore.map(pattern).as_ref());
        profile.samples.iter().map(|sample| sample.weight_ns / 1000).collect()
    }

    #[test]
    fn stacks_are_chosen_by_any_of_their_frames() {
        assert_eq!(kept(None, None), [1, 2, 4]);
        assert_eq!(kept(Some("train"), None), [2, 4]);
        assert_eq!(kept(None, Some("gather")), [1, 4]);
        assert_eq!(kept(Some("train"), Some("gather")), [4]);
        assert!(kept(Some("nothing"), None).is_empty());
    }

    #[test]
    fn states_can_be_matched_like_frames() {
        assert_eq!(kept(Some("blocked"), None), [1]);
    }
}
