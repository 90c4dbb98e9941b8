use proptest::prelude::*;

use super::*;

fn plain(text: &str) -> String {
    Redactor::default().text(text).into_owned()
}

#[test]
fn what_looks_like_a_secret_goes() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nxyz\n-----END OPENSSH PRIVATE KEY-----";
    for (text, clean) in [
        ("export GITHUB_TOKEN=abc123 && make", "export GITHUB_TOKEN=[redacted] && make"),
        ("API_KEY='a b c' x", "API_KEY='[redacted]' x"),
        ("SECRET_KEY=\"a\\\"b\" x", "SECRET_KEY=\"[redacted]\" x"),
        ("curl -H 'Authorization: Bearer abc.def' u", "curl -H 'Authorization: [redacted]' u"),
        ("Authorization: Basic dXNlcjpwYXNz\nHost: x", "Authorization: [redacted]\nHost: x"),
        ("Authorization: Basic $2b$10$abc", "Authorization: [redacted]"),
        ("Authorization: Bearer $T.abc", "Authorization: [redacted]"),
        ("{\"password\": \"p\", \"n\": 1}", "{\"password\": \"[redacted]\", \"n\": 1}"),
        (r#"{\"password\":\"p w\",\"n\":1}"#, r#"{\"password\":\"[redacted]\",\"n\":1}"#),
        ("mysql --password hunter2 db", "mysql --password [redacted] db"),
        ("mysql --password=hunter2 db", "mysql --password=[redacted] db"),
        ("GET /x?token=abc&y=1", "GET /x?token=[redacted]&y=1"),
        ("aws_secret_access_key = wJalr/x+y", "aws_secret_access_key = [redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."),
        ("ghp_0123456789abcdefghij0123456789abcdef", "[redacted]"),
        ("OPENAI: sk-proj-0123456789abcdefghij", "OPENAI: [redacted]"),
        ("git clone https://me:pw@host/x", "git clone https://me:[redacted]@host/x"),
        ("t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "t [redacted]"),
        (key, "[redacted]"),
        ("tail\nof\n-----END RSA PRIVATE KEY-----\nx", "[redacted]\nx"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc", "[redacted]"),
        ("Bearer abcdefgh1234", "Bearer [redacted]"),
    ] {
        assert_eq!(plain(text), clean);
    }
}

#[test]
fn what_does_not_stays() {
    for text in [
        "",
        "echo $GITHUB_TOKEN",
        "export TOKEN=$(pass show x)",
        "TOKEN=\"$OTHER\" make",
        "max_tokens=1000 token_count=5",
        "curl -H \"Authorization: Bearer $GITHUB_TOKEN\" -H 'Authorization: token ${T_1}'",
        "docker pull secret:latest",
        "grep -r password src/",
        "task-runner-with-a-very-long-name-indeed",
        "https://example.org/a@b",
        "git@github.com:a/b.git",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        "{\"password\": null, \"token\": \"\"}",
        "bearer of news",
    ] {
        assert_eq!(plain(text), text);
        assert!(matches!(Redactor::default().text(text), Cow::Borrowed(_)));
    }
}

#[test]
fn names_tell() {
    for name in ["DB_PASSWORD", "github_token", "AWS_SECRET_ACCESS_KEY", "SECRET_KEY", "X_API_KEY"] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in ["PATH", "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEYBOARD", "SSH_AUTH_SOCK", "PWD"] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn json_is_cleaned_inside() {
    let mut value = serde_json::json!({"a": ["x s3cr3t y", 1], "env": {"API_TOKEN": "short", "N": 5}});
    assert!(Redactor::new(["s3cr3t"]).json(&mut value));
    assert_eq!(
        value,
        serde_json::json!({"a": ["x [redacted] y", 1], "env": {"API_TOKEN": "[redacted]", "N": 5}})
    );
}

#[test]
fn a_secret_that_is_in_the_mark_is_gone_too() {
    assert_eq!(Redactor::new(["redacted"]).text("a redacted b"), "a [***] b");
    assert_eq!(Redactor::new(["abc"]).text("too short: abc"), "too short: abc");
}

#[test]
fn overlapping_secrets_go_whole() {
    assert_eq!(Redactor::new(["abcdef", "efghij"]).text("-abcdefghij-"), "-[redacted]-");
}

/// Every way a program may print it.
fn printed(secret: &str, way: usize, around: &[u8]) -> String {
    let with = [around, secret.as_bytes(), b"tail"].concat();
    match way {
        0 => secret.into(),
        1 => base64_simd::STANDARD.encode_to_string(&with),
        2 => base64_simd::URL_SAFE_NO_PAD.encode_to_string(&with),
        3 => serde_json::to_string(secret).unwrap(),
        4 => with.iter().map(|byte| format!("{byte:02x}")).collect(),
        _ => secret
            .bytes()
            .map(|b| if b.is_ascii_alphanumeric() { char::from(b).into() } else { format!("%{b:02X}") })
            .collect(),
    }
}

/// Whether it is there, as it is or in base64.
fn survives(secret: &str, text: &str) -> bool {
    text.contains(secret)
        || text.split(|c: char| !c.is_ascii_alphanumeric() && !"+/-_".contains(c)).any(|word| {
            let word: String = word.replace('-', "+").replace('_', "/");
            (0..4).any(|skip| {
                let part = word.get(skip..).unwrap_or_default();
                let whole = part.len() - part.len() % 4;
                let decoded = base64_simd::STANDARD.decode_to_vec(part.get(..whole).unwrap_or_default());
                decoded.is_ok_and(|bytes| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
            })
        })
}

proptest! {
    #[test]
    fn a_planted_secret_never_survives(
        secret in "[!-Z^-~]{4,40}", before in "\\PC{0,40}", after in "\\PC{0,40}", way in 0..6usize, shift in 0..3usize,
    ) {
        prop_assume!(!MARK.contains(&secret) && !secret.contains("redacted"));
        let redactor = Redactor::new([&secret]);
        let text = format!("{before}{}{after}", printed(&secret, way, &b"xyz"[..shift]));
        let clean = redactor.text(&text);
        prop_assert!(!survives(&secret, &clean), "{text:?} became {clean:?}");
        if way != 1 && way != 2 {
            prop_assert!(!clean.contains(&printed(&secret, way, b"")), "{clean:?}");
        }
    }

    #[test]
    fn a_planted_secret_never_survives_a_stream(
        secret in "[a-z0-9]{4,20}", text in "[a-z0-9 ]{0,60}", cuts in prop::collection::vec(0..120usize, 0..8), at in 0..60usize,
    ) {
        prop_assume!(!MARK.contains(&secret));
        let redactor = Redactor::new([&secret]);
        let mut whole = text.clone();
        whole.insert_str(at.min(text.len()), &secret);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).chain([0, whole.len()]).collect();
        cuts.sort_unstable();
        let mut stream = RedactStream::new(&redactor);
        let mut out: Vec<u8> = cuts.windows(2).flat_map(|cut| stream.push(&whole.as_bytes()[cut[0]..cut[1]])).collect();
        out.extend(stream.finish());
        let out = String::from_utf8(out).unwrap();
        prop_assert!(!out.contains(&secret), "{out:?}");
        prop_assert!(out.contains(MARK));
    }

    #[test]
    fn no_part_of_a_secret_survives_a_cut(
        secret in "[A-Z]{8,200}", filler in "[a-z ]{0,300}", repeat in 1..30usize, cap in 0..300usize,
        head in 0..6000usize, tail in 0..6000usize,
    ) {
        prop_assume!(!survives_in_part(&secret, MARK));
        let redactor = Redactor::new([&secret]);
        let whole = format!("{filler}{secret}").repeat(repeat);
        let bytes = whole.as_bytes();
        let head = &bytes[..head.min(bytes.len())];
        let tail = &bytes[bytes.len() - tail.min(bytes.len() - head.len())..];
        let kept = redactor.excerpt(Kept { head, tail, total: bytes.len() as u64 }, cap);
        prop_assert!(kept.head.len() <= 2 * cap.max(1) && kept.tail.len() <= cap);
        prop_assert!(!survives_in_part(&secret, &kept.head), "{kept:?}");
        prop_assert!(!survives_in_part(&secret, &kept.tail), "{kept:?}");
    }

    #[test]
    fn any_text_is_taken(text in "\\PC{0,200}", secrets in prop::collection::vec("\\PC{0,12}", 0..4)) {
        let redactor = Redactor::new(&secrets);
        redactor.text(&text);
        redactor.excerpt(Kept { head: text.as_bytes(), tail: b"", total: 1000 }, 10);
    }
}

fn survives_in_part(secret: &str, text: &str) -> bool {
    secret.as_bytes().windows(4).any(|part| text.as_bytes().windows(4).any(|at| at == part))
}

#[test]
fn short_output_is_kept_whole_and_long_output_by_its_ends() {
    let redactor = Redactor::default();
    let kept = |text: &str, cap| {
        redactor.excerpt(Kept { head: text.as_bytes(), tail: b"", total: text.len() as u64 }, cap)
    };
    assert_eq!(kept("abc", 10), Excerpt { head: "abc".into(), tail: String::new(), bytes: 3 });
    let long: String = (0..10_000).map(|n| format!("{n} ")).collect();
    let cut = kept(&long, 12);
    assert_eq!((cut.head.as_str(), cut.tail.as_str()), ("0 1 2 3 4 5 ", "7 9998 9999 "));
}
