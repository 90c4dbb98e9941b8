//! Homes of the people of this machine, as its password database has them. `$HOME` is what somebody has set.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const DATABASE: &str = "/etc/passwd";
/// Users below this number are services, but for root.
const FIRST_PERSON: u32 = 1000;

/// Without links, and only those that are there.
pub(super) fn of_people() -> Vec<PathBuf> {
    static KNOWN: Mutex<Option<(Instant, Vec<PathBuf>)>> = Mutex::new(None);
    const FRESH: Duration = Duration::from_secs(30);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, homes)) = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
        return homes.clone();
    }
    let text = std::fs::read_to_string(DATABASE).unwrap_or_default();
    let homes = in_database(&text).filter_map(|home| home.canonicalize().ok()).collect();
    known.insert((Instant::now(), homes)).1.clone()
}

fn in_database(text: &str) -> impl Iterator<Item = &Path> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let number: u32 = fields.next()?.parse().ok()?;
        let home = Path::new(fields.nth(2)?);
        let is_person = number == 0 || number >= FIRST_PERSON;
        (is_person && home.is_absolute() && home != Path::new("/")).then_some(home)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_have_homes_and_services_do_not_count() {
        let text = "root:x:0:0:root:/root:/bin/bash\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\n\
            ann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\nodd:x:1001:1001::/:/bin/sh\nbroken\n::\n";
        let homes: Vec<&Path> = in_database(text).collect();
        assert_eq!(homes, [Path::new("/root"), Path::new("/home/ann")]);
    }
}
