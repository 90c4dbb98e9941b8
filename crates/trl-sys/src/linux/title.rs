//! What `ps -f` shows of this process: the memory its arguments were put in, which is its own to write.

use std::fs;

/// The kernel's record of where the arguments are.
#[derive(Debug)]
pub(crate) struct Title {
    start: usize,
    len: usize,
}

impl Title {
    pub(crate) fn find() -> Option<Self> {
        Self::in_stat(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// `arg_start` and `arg_end` are fields 48 and 49; the first two are the pid and a name with anything in it.
    fn in_stat(stat: &str) -> Option<Self> {
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(45);
        let (start, end): (usize, usize) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (start > 0).then(|| Self { start, len: end.saturating_sub(start) })
    }

    /// Shows `text` from now on, cut to the room there is. The last byte stays NUL, or the kernel reads on behind it.
    ///
    /// For processes with one thread that have read their arguments.
    pub(crate) fn show(&self, text: &[u8]) {
        let Some(room) = self.len.checked_sub(1) else { return };
        let area = std::ptr::with_exposed_provenance_mut::<u8>(self.start);
        // SAFETY: the kernel put the arguments at these `len` bytes and leaves them to the process; they are mapped and
        // writable for its whole life, and nothing here holds a reference into them.
        unsafe {
            area.write_bytes(0, self.len);
            area.copy_from_nonoverlapping(text.as_ptr(), text.len().min(room));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_what_it_is_told_and_no_more_than_fits() {
        // nextest runs each test in a process of its own, which has read its arguments by now
        let shown = || fs::read("/proc/self/cmdline").unwrap();
        let before = shown();
        let title = Title::find().unwrap();
        assert_eq!(title.len, before.len());
        title.show(b"x");
        assert_eq!(shown().trim_ascii_end().split(|b| *b == 0).next(), Some(&b"x"[..]));
        title.show(&vec![b'y'; before.len() + 100]);
        assert_eq!(shown(), [&vec![b'y'; before.len() - 1][..], &[0]].concat());
    }

    #[test]
    fn a_name_of_any_kind_does_not_lead_astray() {
        let rest: String = (3..=52).map(|n| format!(" {n}")).collect();
        let title = Title::in_stat(&format!("12 (a) b){rest}")).unwrap();
        assert_eq!((title.start, title.len), (48, 1));
        assert!(Title::in_stat("12 (x) S 1").is_none());
    }
}
