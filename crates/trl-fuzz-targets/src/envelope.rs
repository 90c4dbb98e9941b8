//! A request line in either dialect: parsing accepts or refuses it, and every refusal is one line of JSON.

use serde_json::value::RawValue;
use trl_proto::envelope::{Dialect, Incoming, Malformed, Request, parse, reply, reply_malformed};
use trl_proto::{event, exec, session, system};

/// Checks the property for one input. Input that is not UTF-8 is ignored.
pub fn check(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    for usual in [Dialect::JsonRpc, Dialect::Plain] {
        match parse(line, usual) {
            Incoming::One(item) => look_at(item),
            Incoming::Batch(items) => items.into_iter().for_each(look_at),
        }
    }
}

fn look_at(item: Result<Request, Malformed>) {
    match item {
        Err(bad) => readable(&reply_malformed(&bad)),
        Ok(request) => parameters(&request),
    }
}

/// Every kind of parameters, whatever the method says: a handler parses them before it knows they are right.
fn parameters(request: &Request) {
    macro_rules! try_each {
        ($($kind:ty),* $(,)?) => {$(
            match request.params::<$kind>() {
                Ok(params) => readable(&serde_json::to_vec(&params).expect("parameters serialize")),
                Err(error) => {
                    let id: Option<&RawValue> = request.id.as_deref();
                    readable(&reply::<()>(request.dialect, id, Err(&error)));
                }
            }
        )*};
    }
    try_each!(
        system::NoParams,
        system::AuthParams,
        system::ShutdownParams,
        session::CreateParams,
        session::ListParams,
        session::SessionParams,
        session::GetParams,
        session::DestroyParams,
        exec::RunParams,
        exec::CancelParams,
        exec::InputParams,
        exec::SignalParams,
        exec::OutputParams,
        exec::ExecutionParams,
        exec::ExecListParams,
        event::SubscribeParams,
    );
}

/// One line of JSON: an answer with a newline in it would be two.
fn readable(answer: &[u8]) {
    assert!(!answer.contains(&b'\n'), "an answer is one line");
    assert!(serde_json::from_slice::<&RawValue>(answer).is_ok(), "an answer is JSON");
}
