//! What `trl serve` prints when it is ready: two lines for programs, and how to log in.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::Signal;
use trl_testkit::process::{signal, wait_gone};
use trl_testkit::{Daemon, Http, json};

use crate::{daemon, ok};

/// `trl serve` with its stdout in a pipe, in the place of a daemon that has ended.
struct Served {
    place: Daemon,
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it has printed so far.
    printed: String,
}

impl Served {
    fn start(http: &str, set: impl FnOnce(&mut Command)) -> Self {
        let mut place = daemon();
        place.stop();
        let mut command = place.command();
        command.arg("serve").arg("--socket").arg(place.socket()).args(["--http", http]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        set(&mut command);
        let mut child = command.spawn().expect("the binary runs");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut served = Self { place, child, stdout, printed: String::new() };
        let first = served.line();
        assert!(first.starts_with("trl ") && first.contains(" ready on /"), "{first}");
        served
    }

    fn line(&mut self) -> String {
        let start = self.printed.len();
        self.stdout.read_line(&mut self.printed).expect("UTF-8");
        self.printed[start..].trim_end().to_string()
    }

    /// The address in the second line.
    fn address(&mut self) -> String {
        let second = self.line();
        let (version, address) = second.split_once(" http on ").unwrap_or_else(|| panic!("{second}"));
        assert_eq!(version, format!("trl {}", env!("CARGO_PKG_VERSION")));
        address.to_string()
    }

    fn token_file(&self) -> PathBuf {
        self.place.dir().join("config/trl/operator.token")
    }

    /// Ends the daemon; everything it has printed.
    fn end(mut self) -> String {
        let pid = self.child.id().cast_signed();
        signal(pid, Signal::TERM);
        wait_gone(pid);
        assert!(self.child.wait().expect("our child").success());
        self.stdout.read_to_string(&mut self.printed).expect("UTF-8");
        self.printed
    }
}

/// The line that says where the token is.
fn login(address: &str, origin: &str) -> String {
    if has_ui(address) {
        format!("log in: open {address} and enter the token in {origin}")
    } else {
        format!("log in: this build has no web UI; {address} accepts the token in {origin} as a bearer token")
    }
}

fn has_ui(address: &str) -> bool {
    !Http::to(address).get("/").text().contains("built without its web UI")
}

#[test]
fn a_log_says_where_the_token_is_and_not_what_it_is() {
    let mut served = Served::start("127.0.0.1:0", |_| {});
    let address = served.address();
    let file = served.token_file();
    assert_eq!(served.line(), login(&address, &file.display().to_string()));
    let token = std::fs::read_to_string(file).expect("a token file");
    let token = token.trim();
    let metrics = Http::to(&address).with_token(token).get("/metrics");
    assert_eq!(metrics.status, 200, "the token in that file is the one");
    let printed = served.end();
    assert!(!printed.contains(token) && !printed.contains("token="), "{printed}");
    assert_eq!(printed.lines().count(), 3, "{printed}");
}

#[test]
fn a_token_of_the_environment_is_named_by_its_variable() {
    const TOKEN: &str = "a-token-that-nobody-guesses";
    let mut served = Served::start("127.0.0.1:0", |command| {
        command.env("TRL_AUTH_TOKEN", TOKEN);
    });
    let address = served.address();
    assert_eq!(served.line(), login(&address, "the daemon's variable TRL_AUTH_TOKEN"));
    assert!(!served.end().contains(TOKEN));
}

/// The kernel says who connects, so there is nothing to log in with.
#[test]
fn an_http_server_on_a_unix_socket_needs_no_login() {
    let dir = trl_testkit::Scratch::new();
    let path = format!("unix:{}", dir.text("http.sock"));
    let mut served = Served::start(&path, |_| {});
    assert_eq!(served.address(), path);
    ok(&served.place, &["ping"]);
    assert_eq!(served.end().lines().count(), 2);
}

#[test]
fn a_reader_may_leave_after_the_lines_it_needs() {
    let mut served = Served::start("127.0.0.1:0", |_| {});
    served.address();
    let pid = served.child.id().cast_signed();
    drop(served.stdout);
    ok(&served.place, &["ping"]);
    signal(pid, Signal::TERM);
    wait_gone(pid);
    assert!(served.child.wait().expect("our child").success());
}

#[test]
fn a_terminal_shows_how_to_log_in() {
    let there = daemon();
    let mut place = daemon();
    place.stop();
    let socket = place.socket();
    let argv = [env!("CARGO_BIN_EXE_trl"), "serve", "--http", "127.0.0.1:0", "--socket"];
    let argv: Vec<&str> = argv.into_iter().chain(socket.to_str()).collect();
    let home = place.dir();
    let env = json!({"XDG_CONFIG_HOME": home.text("config"), "XDG_DATA_HOME": home.text("data"), "HOME": home.text("home")});
    let mut terminal = there.terminal(json!({"argv": argv, "env": env, "cols": 300}));
    terminal.wait(" http on http://");
    let screen = terminal.screen();
    let (_, address) = screen.split_once(" http on ").expect("the second line");
    let address = address.split_whitespace().next().expect("an address").to_string();
    if has_ui(&address) {
        terminal.wait(&format!("open {address}/#token={}", place.operator_token()));
    } else {
        terminal.wait(&login(&address, &place.dir().text("config/trl/operator.token")));
    }
    terminal.ok("terminal.signal", json!({"signal": "INT"}));
    terminal.ended();
}
