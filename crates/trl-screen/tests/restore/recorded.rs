//! Real programs, driven by scenarios.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{COLS, ROWS, Stream, judge_dir, missing};

#[derive(Deserialize)]
struct Recording {
    bytes: String,
    resizes: Vec<(usize, u16, u16)>,
}

/// Records every installed program, all at the same time: the recorder mostly waits until they are quiet.
pub(crate) fn streams() -> Vec<Stream> {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text.py");
    std::fs::write(&text, sample_text()).unwrap();
    let server = TmuxServer { socket: dir.path().join("tmux.socket") };
    let scenarios = scenarios(&text, &server.socket);
    let there = |name: &str| {
        std::env::var("PATH").unwrap_or_default().split(':').any(|d| Path::new(d).join(name).is_file())
    };
    std::thread::scope(|scope| {
        let mut recordings = Vec::new();
        for (name, scenario) in &scenarios {
            if there(name) && there("python3") {
                recordings.push(scope.spawn(|| record(name, scenario, dir.path())));
            } else {
                missing(name);
            }
        }
        recordings.into_iter().map(|recording| recording.join().expect("a recording")).collect()
    })
}

/// The tmux server of a recording, ended with this value. The scenario ends it too, unless a key is lost on the way.
struct TmuxServer {
    socket: PathBuf,
}

impl Drop for TmuxServer {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .arg("kill-server")
            .stderr(Stdio::null())
            .status();
    }
}

fn record(name: &str, scenario: &Value, dir: &Path) -> Stream {
    let out = dir.join(format!("{name}.recording"));
    let mut recorder = Command::new("python3")
        .arg(judge_dir().join("record.py"))
        .arg(&out)
        .args([COLS.to_string(), ROWS.to_string()])
        .current_dir(dir)
        .env("HOME", dir)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    recorder.stdin.take().unwrap().write_all(scenario.to_string().as_bytes()).unwrap();
    assert!(recorder.wait().unwrap().success(), "{name} was not recorded");
    let recording: Recording = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let bytes = base64_simd::STANDARD.decode_to_vec(recording.bytes).unwrap();
    assert!(bytes.len() > 1000, "{name} said too little: {}", String::from_utf8_lossy(&bytes));
    Stream { name: name.into(), bytes, resizes: recording.resizes }
}

/// Something to look at: code, long lines, characters of every width.
fn sample_text() -> String {
    let mut text = String::new();
    for n in 0..400 {
        text += &format!(
            "def function_{n}(argument, other={n}):  # comment {n}\n    return \"string {n}\" + str(argument * {n})\n"
        );
        if n % 9 == 0 {
            text += &format!("# {}\n", "a long line that wraps around ".repeat(8));
        }
        if n % 7 == 0 {
            text += "# 漢字とかな, 한국어, e\u{301}a\u{308}, ünïcödé, → ✓ \u{1f600}\n";
        }
        if n % 11 == 0 {
            text += "\tindented\twith\ttabs\n";
        }
    }
    text
}

fn steps(keys: &[&str]) -> Vec<Value> {
    let step = |keys: &&str| match keys.strip_prefix("resize ") {
        Some(size) => {
            let size: Vec<u16> = size.split('x').map(|n| n.parse().unwrap()).collect();
            json!({ "resize": size })
        }
        None => json!({ "keys": keys }),
    };
    keys.iter().map(step).collect()
}

fn scenarios(text: &Path, socket: &Path) -> Vec<(&'static str, Value)> {
    let (text, socket) = (text.to_str().unwrap(), socket.to_str().unwrap());
    let scenario = |argv: &[&str], keys: &[&str]| json!({ "argv": argv, "steps": steps(keys) });
    vec![
        ("bash", scenario(&["bash", "--norc", "-i"], BASH)),
        (
            "vim",
            scenario(
                &["vim", "-u", "NONE", "-N", "-c", "syntax on|set hlsearch number ruler mouse=a", text],
                VIM,
            ),
        ),
        ("less", scenario(&["less", "-N", text], LESS)),
        ("top", scenario(&["top", "-d", "0.2"], TOP)),
        ("htop", scenario(&["htop", "-d", "2"], HTOP)),
        ("tmux", scenario(&["tmux", "-S", socket, "-f", "/dev/null", "new-session", "bash --norc -i"], TMUX)),
        ("nano", scenario(&["nano", "-l", text], NANO)),
    ]
}

const BASH: &[&str] = &[
    "PS1='\\[\\e[1;32m\\]\\u@\\h\\[\\e[0m\\]:\\[\\e[34m\\]\\w\\[\\e[0m\\]\\$ '\r",
    "ls --color=always -la /usr/bin | head -150\r",
    "for i in $(seq 1 200); do echo \"line $i of the log: $(printf 'x%.0s' $(seq 1 $((i % 150))))\"; done\r",
    "echo a very long command line that goes on and on and on until it has to wrap around the edge of the screen and more",
    "\x01\x1bf\x1bf inserted words in the middle \x05\x1b\x7f\x1b\x7f",
    "\r",
    "printf '\\e[38;2;255;100;0mrgb\\e[48;5;22m256\\e[4:3mcurly\\e[0m plain\\n漢字 한국어 e\\u0301\\n'\r",
    "resize 90x30",
    "seq 1 100 | column\r",
    "\x12seq\r",
    "resize 140x45",
    "cat text.py | head -120\r",
    "clear\r",
    "printf '\\e]0;a title\\a\\e]7;file://host/tmp\\e\\\\\\e]8;;http://example.com\\e\\\\link\\e]8;;\\e\\\\\\n'\r",
    "resize 120x40",
    "yes | head -300\r",
    "echo done\r",
];

const VIM: &[&str] = &[
    "\x06\x06\x06\x02",
    "/return\r",
    "nnn",
    ":split\r",
    "\x17j",
    "Goinserted text here\x1b",
    "dd",
    "u",
    "V5jd",
    "p",
    "resize 100x35",
    ":vsplit\r",
    "\x04\x04\x15",
    "i\t漢字\x1bhhxp",
    ":set nonumber\r",
    "gg=G",
    "resize 120x40",
    ":%s/def/DEF/g\r",
    "\x1a",
    ":terminal ls\r",
    ":q!\r",
    ":set list\r",
    "50%",
    "ihello\x08\x08\x08\x1b",
    ":help\r",
    ":q\r",
    ":qa!\r",
];

const LESS: &[&str] = &[
    " ",
    " ",
    "b",
    "/function_20\r",
    "n",
    "n",
    "G",
    "g",
    "50%",
    "resize 80x25",
    "j",
    "j",
    "k",
    "d",
    "u",
    "-S",
    "\x1b)",
    "resize 120x40",
    "&return\r",
    "h",
    "q",
    "q",
];

const TOP: &[&str] = &["1", "m", "t", "z", "x", "resize 100x30", "c", "V", "resize 120x40", "u", "\r", "q"];

const HTOP: &[&str] = &[
    "\x1b[B\x1b[B",
    "t",
    "\x1bOQ",
    "\x1b",
    "resize 100x30",
    "/sh",
    "\x1b",
    "resize 120x40",
    "I",
    "M",
    "P",
    "q",
];

const TMUX: &[&str] = &[
    "ls --color=always -la /usr/bin | head -80\r",
    "\x02%",
    "for i in $(seq 200); do echo row $i; done\r",
    "\x02\"",
    "less text.py\r",
    "  ",
    "\x02o",
    "seq 500\r",
    "\x02[",
    "\x1b[5~\x1b[5~",
    "q",
    "resize 100x30",
    "\x02z",
    "cat text.py | head -100\r",
    "\x02z",
    "resize 120x40",
    "\x02c",
    "top -d 0.3\r",
    "q",
    "\x02n",
    "\x02w",
    "q",
    "\x02:kill-server\r",
];

const NANO: &[&str] = &[
    "\x16",
    "\x16",
    "hello nano\r",
    "\x17function_30\r",
    "\x0b\x0b\x15",
    "\x19",
    "\x1c",
    "\x1b",
    "resize 100x30",
    "漢字 text\r",
    "\x07",
    "\x18",
    "resize 120x40",
    "\x1b/",
    "\x1b\\",
    "\x18n",
];
