//! A registry with one image of one layer, on the loopback: as much of its protocol as a daemon that pulls needs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG: &str = "application/vnd.docker.container.image.v1+json";
const LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar";

#[derive(Debug)]
pub struct Registry {
    port: u16,
}

/// Path to type and content.
type Shelf = BTreeMap<String, (&'static str, Vec<u8>)>;

impl Registry {
    /// It has `image:1`, for this architecture, whose layer is this; what it `serves` for the layer may be something else.
    pub fn with(architecture: &str, layer: &[u8], serves: &[u8]) -> Self {
        let config = json!({
            "architecture": architecture, "os": "linux", "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        });
        let config = config.to_string().into_bytes();
        let part = |kind: &str, bytes: &[u8]| -> Value {
            json!({"mediaType": kind, "size": bytes.len(), "digest": digest(bytes)})
        };
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": part(CONFIG, &config), "layers": [part(LAYER, layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let shelf: Shelf = BTreeMap::from([
            ("/v2/".into(), ("application/json", b"{}".to_vec())),
            (format!("/v2/image/manifests/{}", digest(&manifest)), (MANIFEST, manifest.clone())),
            ("/v2/image/manifests/1".into(), (MANIFEST, manifest)),
            (format!("/v2/image/blobs/{}", digest(&config)), (CONFIG, config)),
            (format!("/v2/image/blobs/{}", digest(layer)), (LAYER, serves.to_vec())),
        ]);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shelf = Arc::new(shelf);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shelf = Arc::clone(&shelf);
                std::thread::spawn(move || serve(stream, &shelf));
            }
        });
        Self { port }
    }

    pub fn name(&self, tag: &str) -> String {
        format!("127.0.0.1:{}/image:{tag}", self.port)
    }
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn serve(stream: TcpStream, shelf: &Shelf) {
    let mut reader = BufReader::new(&stream);
    // TLS is tried first, and plain HTTP as soon as that is refused.
    const HANDSHAKE: u8 = 0x16;
    if reader.fill_buf().is_ok_and(|first| first.first() == Some(&HANDSHAKE)) {
        return;
    }
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if reader.read_until(b'\n', &mut head).is_ok_and(|n| n == 0) {
                return;
            }
        }
        let head = String::from_utf8_lossy(&head);
        let mut words = head.split(' ');
        let (verb, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let missing = ("application/json", br#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#.to_vec());
        let (status, (kind, body)) = match shelf.get(path) {
            Some(found) => ("200 OK", found),
            None => ("404 Not Found", &missing),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nDocker-Content-Digest: {}\r\n\
             Docker-Distribution-Api-Version: registry/2.0\r\n\r\n",
            body.len(),
            digest(body),
        );
        let body = if verb == "HEAD" { &[] } else { body.as_slice() };
        if (&stream).write_all(&[answer.as_bytes(), body].concat()).is_err() {
            return;
        }
    }
}
