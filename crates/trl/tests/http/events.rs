//! `GET /api/executions/{id}/events`: output that can be resumed at any byte.

use trl_testkit::{Daemon, Http, Random, SseEvent, bytes_of, eventually, json};

use crate::{builder, daemon, operator};

fn stream(http: &Http, command: &str) -> String {
    let started = http.ok("exec.stream", json!({"command": command}));
    started["events"].as_str().expect("a place to read on").to_string()
}

/// Both streams and the last event, put together from events.
#[derive(Default)]
struct Heard {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    last_id: String,
    exit: Option<SseEvent>,
}

impl Heard {
    /// Takes an event that must follow what was heard before.
    fn take(&mut self, event: SseEvent) {
        self.last_id.clone_from(&event.id);
        if event.name == "exit" {
            self.exit = Some(event);
            return;
        }
        assert_eq!(event.name, "output");
        let into = if event.data["stream"] == "stdout" { &mut self.stdout } else { &mut self.stderr };
        assert_eq!(event.data["offset"].as_u64(), Some(into.len() as u64), "neither lost nor doubled");
        into.extend(bytes_of(&event.data, "data"));
        let next = format!("{}.{}", self.stdout.len(), self.stderr.len());
        assert_eq!(event.id, next, "the id says where both go on");
    }

    /// Listens for some events more, from where it was cut; to the end when None.
    fn listen(&mut self, http: &Http, url: &str, most: Option<usize>) {
        let mut reply = http.send("GET", url, &[("Last-Event-ID", &self.last_id)], b"");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        let mut left = most.unwrap_or(usize::MAX);
        while left > 0 && self.exit.is_none() {
            let event = reply.event().expect("it does not end before the exit");
            if !event.is_comment {
                self.take(event);
                left -= 1;
            }
        }
    }
}

/// Writes about a megabyte to both streams, in uneven pieces.
const BABBLE: &str = "i=0; while [ $i -lt 120 ]; do i=$((i+1)); head -c $((i*37)) /dev/urandom | base64; \
                      head -c $((i*23)) /dev/urandom >&2; done; exit 9";

#[test]
fn a_listener_that_is_cut_at_random_gets_every_byte_once() {
    let daemon = daemon();
    let http = operator(&daemon);
    let url = stream(&http, BABBLE);
    let mut random = Random::seeded(7);
    let mut heard = Heard::default();
    let mut cuts = 0;
    while heard.exit.is_none() {
        heard.listen(&http, &url, Some(1 + usize::try_from(random.below(4)).expect("small")));
        cuts += 1;
    }
    assert!(cuts > 2, "{cuts}");
    let exit = heard.exit.expect("heard");
    assert_eq!(exit.data["exit_code"], 9);
    assert_eq!(exit.data["stdout_bytes"], heard.stdout.len());
    let id = &exit.data["execution_id"];
    for (stream, heard) in [("stdout", &heard.stdout), ("stderr", &heard.stderr)] {
        let kept = http.ok("exec.output", json!({"execution_id": id, "stream": stream}));
        assert_eq!(&bytes_of(&kept, "data"), heard, "{stream}");
    }
    // And again from the start, in one go.
    let mut again = Heard::default();
    again.listen(&http, &url, None);
    assert!(again.stdout == heard.stdout && again.stderr == heard.stderr);
}

#[test]
fn who_has_heard_the_end_is_told_to_stop() {
    let daemon = daemon();
    let http = operator(&daemon);
    let url = stream(&http, "echo done");
    let mut heard = Heard::default();
    heard.listen(&http, &url, None);
    assert_eq!(heard.last_id, "5.0.exit");
    let reply = http.ask("GET", &url, &[("Last-Event-ID", &heard.last_id)], b"");
    assert_eq!((reply.status, reply.body.len()), (204, 0));
}

#[test]
fn odd_places_are_refused_and_places_beyond_the_end_are_the_end() {
    let daemon = daemon();
    let http = operator(&daemon);
    let url = stream(&http, "echo done");
    let mut heard = Heard::default();
    heard.listen(&http, &url, None);
    for odd in ["x", "1", "1.2.3", "-1.0", "0.0.0.exit"] {
        assert_eq!(http.ask("GET", &url, &[("Last-Event-ID", odd)], b"").status, 400, "{odd}");
    }
    let far = u64::MAX.to_string();
    let mut reply = http.send("GET", &url, &[("Last-Event-ID", &format!("{far}.{far}"))], b"");
    assert_eq!(reply.event().expect("an event").name, "exit");
}

fn next_of(daemon: &Daemon, url: &str) -> (trl_testkit::Reply, SseEvent) {
    let mut reply = operator(daemon).send("GET", url, &[], b"");
    let event = reply.event().expect("an event");
    (reply, event)
}

#[test]
fn a_silent_stream_shows_signs_of_life() {
    let daemon = builder().set("http", "keep_alive_s", 0.1).start();
    let url = stream(&operator(&daemon), "sleep 1000");
    let (mut reply, first) = next_of(&daemon, &url);
    assert!(first.is_comment);
    assert!(reply.event().expect("another").is_comment);
}

#[test]
fn a_listener_that_leaves_is_forgotten() {
    let daemon = builder().set("http", "keep_alive_s", 0.1).start();
    let http = operator(&daemon);
    let url = stream(&http, "echo up; sleep 1000");
    let (reply, first) = next_of(&daemon, &url);
    assert_eq!(bytes_of(&first.data, "data"), b"up\n");
    assert_eq!(http.ok("system.stats", json!({}))["connections"], 2);
    drop(reply);
    eventually("it is forgotten", || http.ok("system.stats", json!({}))["connections"] == 1);
}

#[test]
fn characters_are_not_split_and_binary_is_exact() {
    let daemon = daemon();
    let http = operator(&daemon);
    let url = stream(&http, "printf '\\303'; sleep 0.1; printf '\\251\\n\\377\\000'");
    let mut heard = Heard::default();
    heard.listen(&http, &url, None);
    assert_eq!(heard.stdout, b"\xc3\xa9\n\xff\x00");
}
