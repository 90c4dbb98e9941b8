//! Connections killed at random bytes: nothing is lost, nothing doubled, and past the ring one picture makes up for it.

use std::net::{Shutdown, TcpListener, TcpStream};

use trl_screen::Screen;
use trl_testkit::proxy::carry;
use trl_testkit::{Attached, Http, Random, Rounds, eventually, json};

use crate::terminals::{attach, create};
use crate::{builder, operator};

/// Passes a connection on until so many bytes have come back, then kills it.
pub(crate) fn cut_after(to: &str, bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let to = to.to_string();
    std::thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let far = TcpStream::connect(to).unwrap();
        let (mut up_from, mut up_to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut up_from, &mut up_to);
        });
        let (mut from, mut into) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        carry(&mut from, &mut into, bytes);
        let _ = near.shutdown(Shutdown::Both);
        let _ = far.shutdown(Shutdown::Both);
    });
    address
}

/// Draws until it has written so many bytes: colours, wide characters, wrapped lines, regions, both screens, all over the
/// place; the same for the same number. Ends with that number between bars. It leaves the normal screen from the first
/// column: a saved cursor that waits to wrap is what no snapshot brings back.
const PAINTER: &str = r#"
    function put(text) { printf "%s", text; total += length(text) }
    function any(n) { return int(rand() * n) }
    BEGIN {
        srand(number); esc = "\033["; chars = "abcdefghijklmnopqrstuvwxyz0123456789";
        while (total < bytes) {
            what = any(24);
            if (what == 0) put(esc (2 + any(5)) ";" (12 + any(10)) "r");
            else if (what == 1) put(esc "r");
            else if (what == 2) put("\r" esc "?1049h");
            else if (what == 3) put(esc "?1049l");
            else if (what == 4) put(esc (1 + any(3)) "L" esc (1 + any(3)) "P");
            else if (what == 5) put(esc "?" (any(2) ? "1" : "2004") (any(2) ? "h" : "l"));
            else if (what == 6) put("\033]0;title " any(100) "\007");
            else if (what == 7) put("漢字 é ✓ ");
            else if (what < 11) put(esc (1 + any(24)) ";" (1 + any(60)) "H");
            put(esc (any(2) ? "38;5;" any(256) : 30 + any(8)) "m" esc (any(3) ? "1" : "48;2;" any(256) ";9;9") "m");
            for (n = 1 + any(9); n > 0; n--) put(substr(chars, 1 + any(26), 10));
            put(any(3) ? "\r\n" : esc "0m");
        }
        put(esc "0m" esc "2;3H|" number "|"); fflush();
    }"#;

/// What differs between two screens. Of the lines above, one may have kept more; saved cursors off the screen come back at
/// its edge.
fn differences(a: &Screen, b: &Screen) -> Vec<String> {
    let (mut a, mut b) = (a.dump(), b.dump());
    let kept = a.normal.lines.len().min(b.normal.lines.len());
    for dump in [&mut a, &mut b] {
        dump.normal.lines.drain(..dump.normal.lines.len() - kept);
        for buffer in [&mut dump.normal, &mut dump.alt] {
            buffer.saved.0 = buffer.saved.0.min(79);
            buffer.saved.1 = buffer.saved.1.clamp(0, 23);
        }
    }
    assert!(kept > 24, "there is something above the screen");
    a.differences(&b)
}

/// A screen that is shown what a client is sent.
struct Shown {
    screen: Screen,
    next: u64,
}

impl Shown {
    fn take(&mut self, client: &mut Attached) {
        let (pictures, seen) = (client.pictures, client.bytes.len());
        client.take();
        if client.pictures > pictures {
            let (_, picture) = client.picture.as_ref().expect("a picture");
            self.screen = Screen::new(80, 24, HISTORY);
            self.screen.feed(picture);
        } else if client.bytes.len() > seen {
            self.screen.feed(&client.bytes[seen..]);
        } else {
            return;
        }
        client.ack();
        self.next = client.next();
    }
}

const RING: u64 = 262_144;
const HISTORY: usize = 100_000;

mod soak {
    use super::*;

    #[test]
    fn sockets_killed_at_random_bytes_lose_nothing_and_double_nothing() {
        // Connections that are cut early get less than is written meanwhile: the ring holds all of it.
        let daemon = builder().set("terminals", "ring_bytes", 16 << 20).start();
        let http = operator(&daemon);
        // A stream whose every byte is known: numbered lines, held back by what we type.
        let id = create(
            &http,
            &json!({"argv": ["sh", "-c", "stty raw -echo; echo go; i=0; while read -r n; do n=$((i+n)); while [ $i -lt $n ]; do echo $i; i=$((i+1)); done; done"]}),
        );
        let mut random = Random::from_environment();
        let first = attach(&daemon, &id, "client=c");
        let generation = first.generation().to_string();
        drop(first);
        eventually("it is ready", || http.get(&format!("/api/terminals/{id}")).json()["head"] == 3);
        let mut all = b"go\n".to_vec();
        let (mut whole, mut asked) = (all.clone(), 0);
        for cut in Rounds::new(300) {
            let more = 20 + random.below(60);
            whole.extend((asked..asked + more).flat_map(|i| format!("{i}\n").into_bytes()));
            asked += more;
            http.ok("terminal.input", json!({"terminal_id": id, "data": format!("{more}\n")}));
            let address = cut_after(http.authority(), 200 + random.below(1500) as usize);
            let query = format!("client=c&gen={generation}&since={}", all.len());
            let door = Http::to(&format!("http://{address}"));
            let Some(mut client) = Attached::try_open(&door, &daemon.operator_token(), &id, &query) else {
                continue;
            };
            assert_eq!(client.resume["kind"], "delta", "cut {cut}");
            assert_eq!(client.start, all.len() as u64);
            while client.closed.is_none() && all.len() + client.bytes.len() < whole.len() {
                client.take();
            }
            all.extend(&client.bytes);
        }
        let mut last = attach(&daemon, &id, &format!("gen={generation}&since={}", all.len()));
        last.until(|c| all.len() + c.bytes.len() >= whole.len());
        all.extend(&last.bytes);
        assert!(all == whole, "{} bytes, {} expected", all.len(), whole.len());
    }

    #[test]
    fn sockets_killed_and_back_after_the_ring_has_moved_on_get_one_picture_and_then_the_same_screen() {
        let daemon =
            builder().set("terminals", "ring_bytes", RING).set("terminals", "history_bytes", HISTORY).start();
        let http = operator(&daemon);
        let script = format!(
            "stty raw -echo; echo ready; while read -r n; do awk -v number=$n -v bytes={} '{PAINTER}'; done",
            48 * 1024
        );
        let id = create(&http, &json!({"argv": ["sh", "-c", script], "env": {"LC_ALL": "C.UTF-8"}}));
        let mut random = Random::from_environment();
        let fresh = || Shown { screen: Screen::new(80, 24, HISTORY), next: 0 };
        let (mut steady, mut jumpy) = (fresh(), fresh());
        let info = http.get(&format!("/api/terminals/{id}")).json();
        let generation = info["gen"].as_str().unwrap();
        let mut always = attach(&daemon, &id, &format!("client=always&gen={generation}&since=0"));
        let ring_start = || http.get(&format!("/api/terminals/{id}")).json()["ring_start"].as_u64().unwrap();
        // One piece after the other, so that the one that stays is never far behind.
        let mut pieces = 0;
        let mut begin = || {
            http.ok("terminal.input", json!({"terminal_id": id, "data": format!("{pieces}\n")}));
            pieces += 1;
            format!("|{}|", pieces - 1)
        };
        let finish = |always: &mut Attached, steady: &mut Shown, end: &str| {
            while !always.bytes.ends_with(end.as_bytes()) {
                steady.take(always);
            }
        };
        let (mut in_picture, mut after_it) = (0, 0);
        for round in Rounds::new(15) {
            while ring_start() <= jumpy.next {
                let end = begin();
                finish(&mut always, &mut steady, &end);
            }
            // In the middle of the drawing.
            let end = begin();
            let budget = 1000 + random.below(3 * HISTORY as u64) as usize;
            let door = Http::to(&format!("http://{}", cut_after(http.authority(), budget)));
            let since = |shown: &Shown| format!("client=jumpy&gen={generation}&since={}", shown.next);
            let client = Attached::try_open(&door, &daemon.operator_token(), &id, &since(&jumpy));
            finish(&mut always, &mut steady, &end);
            if let Some(mut client) = client {
                assert_eq!(client.resume["kind"], "snapshot", "round {round}");
                while client.closed.is_none() && (client.pictures == 0 || client.next() < steady.next) {
                    jumpy.take(&mut client);
                }
                assert!(client.pictures <= 1 && client.said.iter().all(|m| m["type"] != "resync"));
                (in_picture, after_it) = (in_picture + (1 - client.pictures), after_it + client.pictures);
            }
            let mut client = attach(&daemon, &id, &since(&jumpy));
            let kind = if jumpy.next < ring_start() { "snapshot" } else { "delta" };
            assert_eq!(client.resume["kind"], kind, "round {round}");
            while client.next() < steady.next || (kind == "snapshot" && client.pictures == 0) {
                jumpy.take(&mut client);
            }
            assert_eq!((client.pictures, jumpy.next), (u64::from(kind == "snapshot"), steady.next));
            assert_eq!(differences(&steady.screen, &jumpy.screen), [""; 0], "round {round}");
            (always.start, always.bytes) = (always.next(), Vec::new());
        }
        println!("cut before the picture was there: {in_picture}, after it: {after_it}");
        assert_eq!(always.pictures, 0, "the one that stayed saw every byte");
    }
}
