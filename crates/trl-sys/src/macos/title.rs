//! What `ps -f` shows of this process: the memory its arguments were put in, which is its own to write.

use std::ffi::CStr;

/// Where the arguments are: one behind the other.
#[derive(Debug)]
pub(crate) struct Title {
    start: *mut u8,
    len: usize,
}

impl Title {
    pub(crate) fn find() -> Option<Self> {
        // SAFETY: the C library keeps both for the whole life of the process; the last argument is terminated.
        unsafe {
            let (count, list) = (*libc::_NSGetArgc(), *libc::_NSGetArgv());
            let last = usize::try_from(count).ok()?.checked_sub(1)?;
            let (first, last) = (*list, *list.add(last));
            let end = last.addr() + CStr::from_ptr(last).to_bytes_with_nul().len();
            Some(Self { start: first.cast(), len: end.checked_sub(first.addr())? })
        }
    }

    /// Shows `text` from now on, cut to the room there is. The last byte stays NUL.
    ///
    /// For processes with one thread that have read their arguments.
    pub(crate) fn show(&self, text: &[u8]) {
        let Some(room) = self.len.checked_sub(1) else { return };
        // SAFETY: these `len` bytes are the arguments, writable for the whole life of the process, and nothing here holds a
        // reference into them.
        unsafe {
            self.start.write_bytes(0, self.len);
            self.start.copy_from_nonoverlapping(text.as_ptr(), text.len().min(room));
        }
    }
}
