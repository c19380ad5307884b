//! Unified diffs, in the one form that clients receive.

use std::ops::Range;

use similar::TextDiff;

/// Returns the diff from `old` to `new`; `old` is empty for a file that did not exist.
pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    // Snippets lack their last line break. Only a difference in it is a fact about the file.
    if !old.is_empty() && !old.ends_with('\n') && !new.ends_with('\n') {
        return unified(path, &format!("{old}\n"), &format!("{new}\n"));
    }
    of_files(path, Some(old).filter(|old| !old.is_empty()), new)
}

/// Returns the diff between two whole files, to the letter. `None` is a file that did not exist.
pub(crate) fn of_files(path: &str, old: Option<&str>, new: &str) -> String {
    let path = path.trim_start_matches('/');
    let before = old.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    let after = format!("b/{path}");
    let old = old.unwrap_or_default();
    let lines = Lines::of(old, new);
    if lines.are_too_different() {
        return format!("--- {before}\n+++ {after}\n{}", lines.one_hunk());
    }
    TextDiff::from_lines(old, new).unified_diff().header(&before, &after).to_string()
}

/// So many changed lines are looked at one by one: the time for it grows with their square.
const MAX_EDITS: usize = 4_000;

/// Lines around a change.
const CONTEXT: usize = 3;

/// The lines of two files, each with its line break, and where they differ.
struct Lines<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// Those between the common beginning and the common end.
    old_middle: Range<usize>,
    new_middle: Range<usize>,
}

impl<'a> Lines<'a> {
    fn of(old: &'a str, new: &'a str) -> Self {
        let old: Vec<_> = old.split_inclusive('\n').collect();
        let new: Vec<_> = new.split_inclusive('\n').collect();
        let same = |(one, other): &(&&str, &&str)| one == other;
        let head = old.iter().zip(&new).take_while(same).count();
        let rest = old.len().min(new.len()) - head;
        let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
        let (old_middle, new_middle) = (head..old.len() - tail, head..new.len() - tail);
        Self { old, new, old_middle, new_middle }
    }

    /// Whether a diff of single lines would take too long. Lines that are only added or only removed cost nothing.
    fn are_too_different(&self) -> bool {
        !self.old_middle.is_empty() && !self.new_middle.is_empty() && self.differ_by_more_than(MAX_EDITS)
    }

    /// Whether more lines than `most` have to be removed or added, by the greedy search of Myers. `reached` holds,
    /// for each diagonal of the grid of both files, how many old lines can be passed with so many edits.
    fn differ_by_more_than(&self, most: usize) -> bool {
        let old = self.old.get(self.old_middle.clone()).unwrap_or_default();
        let new = self.new.get(self.new_middle.clone()).unwrap_or_default();
        if old.len() + new.len() <= most {
            return false;
        }
        // Diagonal 0 is in the middle, and each end has one to spare.
        let middle = most + 1;
        let mut reached = vec![0_usize; 2 * most + 3];
        for edits in 0..=most {
            for diagonal in (middle - edits..=middle + edits).step_by(2) {
                let by_removal = reached.get(diagonal - 1).map_or(0, |passed| passed + 1);
                let by_addition = reached.get(diagonal + 1).copied().unwrap_or(0);
                let adds =
                    diagonal == middle - edits || (diagonal < middle + edits && by_removal <= by_addition);
                let mut passed = if adds { by_addition } else { by_removal };
                let of_new = |passed: usize| (passed + middle).saturating_sub(diagonal);
                while let (Some(one), Some(other)) = (old.get(passed), new.get(of_new(passed)))
                    && one == other
                {
                    passed += 1;
                }
                if passed >= old.len() && of_new(passed) >= new.len() {
                    return false;
                }
                if let Some(place) = reached.get_mut(diagonal) {
                    *place = passed;
                }
            }
        }
        true
    }

    /// The whole middle as one change: longer than it need be, but right.
    fn one_hunk(&self) -> String {
        let Self { old, new, old_middle, new_middle } = self;
        let begin = old_middle.start.saturating_sub(CONTEXT);
        let around = |middle: &Range<usize>, all: usize| begin..(middle.end + CONTEXT).min(all);
        let (removed, added) = (around(old_middle, old.len()), around(new_middle, new.len()));
        let mut hunk = format!("@@ -{} +{} @@\n", shown(&removed), shown(&added));
        let parts = [
            (' ', old, begin..old_middle.start),
            ('-', old, old_middle.clone()),
            ('+', new, new_middle.clone()),
            (' ', old, old_middle.end..removed.end),
        ];
        for (sign, lines, range) in parts {
            for line in lines.get(range).unwrap_or_default() {
                hunk.push(sign);
                hunk.push_str(line);
                if !line.ends_with('\n') {
                    hunk.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        hunk
    }
}

/// Lines count from 1; an empty range is named by the line before it.
fn shown(range: &Range<usize>) -> String {
    let first = range.start + usize::from(!range.is_empty());
    format!("{first},{}", range.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(word: &str, count: usize) -> String {
        (0..count).map(|number| format!("{word} {number}\n")).collect()
    }

    #[test]
    fn a_file_without_a_last_line_break_keeps_having_none() {
        insta::assert_snapshot!(of_files("/a", Some("x\ny"), "x\nz"), @r"
        --- a/a
        +++ b/a
        @@ -1,2 +1,2 @@
         x
        -y
        \ No newline at end of file
        +z
        \ No newline at end of file
        ");
    }

    #[test]
    fn files_with_little_in_common_are_one_change_from_where_they_differ() {
        let old = format!("a\nb\nc\nd\n{}e\nf\ng\nh", numbered("old", MAX_EDITS));
        let new = format!("a\nb\nc\nd\n{}e\nf\ng\nh", numbered("new", MAX_EDITS - 1));
        let diff = of_files("/a", Some(&old), &new);
        let lines: Vec<&str> = diff.lines().collect();
        let (beginning, rest) = lines.split_at(7);
        insta::assert_snapshot!(beginning.join("\n"), @r"
        --- a/a
        +++ b/a
        @@ -2,4006 +2,4005 @@
         b
         c
         d
        -old 0
        ");
        insta::assert_snapshot!(rest[MAX_EDITS - 2..MAX_EDITS].join("\n"), @r"
        -old 3999
        +new 0
        ");
        insta::assert_snapshot!(rest[rest.len() - 4..].join("\n"), @r"
        +new 3998
         e
         f
         g
        ");
    }

    #[test]
    fn a_few_changes_in_a_long_file_are_told_one_by_one() {
        let old = numbered("line", 3 * MAX_EDITS);
        let new =
            old.replace("line 7\n", "seven\n").replace("line 11999\n", "last\n").replace("line 9\n", "");
        let diff = of_files("/a", Some(&old), &new);
        assert_eq!(diff.matches("\n@@ ").count(), 2, "{diff}");
        assert_eq!(diff.matches("\n-").count() - diff.matches("\n--").count(), 3, "{diff}");
    }

    /// How many lines have to be removed or added, by comparing every old line with every new one.
    fn edits(old: &str, new: &str) -> usize {
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let mut row: Vec<usize> = (0..=new.len()).collect();
        for one in old.split_inclusive('\n') {
            let above = row.clone();
            row[0] += 1;
            for (place, other) in new.iter().enumerate() {
                let changed = 1 + row[place].min(above[place + 1]);
                row[place + 1] = if one == *other { above[place] } else { changed };
            }
        }
        row[new.len()]
    }

    proptest::proptest! {
        #[test]
        fn the_search_knows_how_much_has_changed(old in "([abc]\n){0,12}", new in "([abc]\n){0,12}", most in 0..26_usize) {
            let found = Lines::of(&old, &new).differ_by_more_than(most);
            proptest::prop_assert_eq!(found, edits(&old, &new) > most);
        }
    }
}
