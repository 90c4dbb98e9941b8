//! Logs its arguments in one write to file descriptor 9: the case's number, how many words, the words, each ended by a NUL.
//! Ends with 1 when its name begins with `f`.

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    let mut record = std::env::var_os("STUB_CASE").unwrap_or_default().as_bytes().to_vec();
    record.push(0);
    record.extend_from_slice(words.len().to_string().as_bytes());
    record.push(0);
    for (at, word) in words.iter().enumerate() {
        let bytes = word.as_bytes();
        let name = if at == 0 { bytes.rsplit(|byte| *byte == b'/').next().unwrap_or(bytes) } else { bytes };
        record.extend_from_slice(name);
        record.push(0);
    }
    let log = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/9");
    if log.and_then(|mut log| log.write_all(&record)).is_err() {
        return ExitCode::from(99);
    }
    let name = words
        .first()
        .map(|word| word.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec());
    ExitCode::from(u8::from(name.is_some_and(|name| name.starts_with(b"f"))))
}
