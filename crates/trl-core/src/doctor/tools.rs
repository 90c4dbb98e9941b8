//! Shells and other programs: a script asks each for its version, and here its words are read.
//!
//! Who runs the script is not decided here: a daemon, which never forks, runs it as a command of its own.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use trl_proto::doctor::{Finding, Health};

use super::info;

/// Prints `name<TAB>path<TAB>version` for each program that is found. What a program says beside its version is cut off
/// when it is read.
pub const SCRIPT: &str = r#"
say() { p=$(command -v "$1") && printf '%s\t%s\t%s\n' "$1" "$p" "$("$p" "$2" ${3+"$3"} 2>&1 </dev/null | head -n 1)"; }
say sh -c 'echo'
say dash -c 'echo'
say bash -c 'echo "$BASH_VERSION"'
say zsh -fc 'echo "$ZSH_VERSION"'
say busybox --help
say fish --version
say ksh93 -c 'echo "${.sh.version}"'
say docker --version
say ssh -V
:
"#;

/// How long the script may take, as a word of each program is not worth more.
pub const LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// Shells a session can have, with the names people know them by.
const SHELLS: [&str; 7] = ["sh", "dash", "bash", "zsh", "busybox", "fish", "ksh93"];

/// What the script found.
pub fn findings(printed: &str) -> Vec<Finding> {
    let found: Vec<[&str; 3]> =
        printed.lines().filter_map(|line| line.splitn(3, '\t').collect::<Vec<_>>().try_into().ok()).collect();
    let find = |name: &str| found.iter().find(|[found, ..]| *found == name);
    let mut rows: Vec<Finding> = SHELLS
        .iter()
        .filter_map(|name| find(name))
        .map(|[name, path, said]| {
            let value = format!("{path} {}", version(said)).trim_end().to_string();
            Finding::new(format!("shell.{name}"), *name, Health::Ok, value)
        })
        .collect();
    if find("sh").is_none() {
        let row = Finding::new("shell.sh", "sh", Health::Bad, "not found");
        rows.push(row.hint("sessions have /bin/sh unless they name another shell"));
    }
    let other = |name: &str| find(name).map(|[_, path, said]| format!("{path} {}", version(said)));
    rows.push(docker(other("docker")));
    rows.push(info("ssh", "SSH", other("ssh").unwrap_or_else(|| "not found".into())));
    rows
}

fn docker(client: Option<String>) -> Finding {
    let socket = Path::new("/var/run/docker.sock");
    let is_there = std::fs::metadata(socket).is_ok_and(|m| m.file_type().is_socket());
    let reachable = is_there && rustix::fs::access(socket, rustix::fs::Access::WRITE_OK).is_ok();
    let service = match (is_there, reachable) {
        (_, true) => "its service can be reached",
        (true, false) => "its service may not be used by this user",
        (false, false) => "no service here",
    };
    info("docker", "Docker", format!("{}; {service}", client.unwrap_or_else(|| "not found".into())))
}

/// The first word that looks like one: `5.2.15(1)-release`, `v1.35.0`, `OpenSSH_9.2p1`.
fn version(said: &str) -> &str {
    let looks = |word: &&str| word.contains('.') && word.contains(|c: char| c.is_ascii_digit());
    said.split_whitespace().find(looks).unwrap_or("").trim_end_matches([',', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_among_other_words() {
        for (said, meant) in [
            ("5.2.15(1)-release", "5.2.15(1)-release"),
            ("BusyBox v1.35.0 (Debian 1:1.35.0-4) multi-call binary.", "v1.35.0"),
            ("fish, version 3.6.0", "3.6.0"),
            ("OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.1", "OpenSSH_9.2p1"),
            ("Docker version 27.3.1, build ce12230", "27.3.1"),
            ("", ""),
        ] {
            assert_eq!(version(said), meant);
        }
    }

    #[test]
    fn what_is_found_is_named_and_a_missing_sh_is_bad() {
        let rows = findings("sh\t/bin/sh\t\nbash\t/bin/bash\t5.2.15(1)-release\n");
        let bash = rows.iter().find(|r| r.id == "shell.bash").unwrap();
        assert_eq!(bash.value, "/bin/bash 5.2.15(1)-release");
        assert!(rows.iter().all(|r| r.status != Health::Bad));
        assert!(rows.iter().any(|r| r.id == "ssh" && r.value == "not found"));
        assert!(findings("").iter().any(|r| r.id == "shell.sh" && r.status == Health::Bad));
    }

    #[test]
    fn the_script_runs_in_any_shell_of_the_standard() {
        let done = std::process::Command::new("/bin/sh").args(["-c", SCRIPT]).output().unwrap();
        assert!(done.status.success());
        let rows = findings(&String::from_utf8_lossy(&done.stdout));
        assert!(rows.iter().any(|r| r.id == "shell.sh" && r.status == Health::Ok), "{rows:?}");
    }
}
