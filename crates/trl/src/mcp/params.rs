//! Parameters of the protocol's methods that do not have their method's shape.
//!
//! `rmcp` takes such a request for one of a method that it does not know. A client that heard "method not found" would
//! look for the error in the wrong place.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, ConstString, CustomRequest, ErrorCode,
    InitializeRequestParams, InitializeResultMethod, ReadResourceRequestMethod, ReadResourceRequestParams,
    RequestMetaObject,
};
use serde::de::DeserializeOwned;

/// Returns the error for a request that is not one of a known method with parameters of the right shape.
///
/// A request that names its protocol version in `_meta` is of 2026-07-28 or newer, where `initialize` is no method.
pub(super) fn refused(request: &CustomRequest, meta: &RequestMetaObject) -> ErrorData {
    let wrong = match request.method.as_str() {
        CallToolRequestMethod::VALUE => wrong::<CallToolRequestParams>,
        ReadResourceRequestMethod::VALUE => wrong::<ReadResourceRequestParams>,
        InitializeResultMethod::VALUE if meta.protocol_version().is_none() => {
            wrong::<InitializeRequestParams>
        }
        method => return ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_string(), None),
    };
    let params = request.params.as_ref().map_or_else(|| "{}".into(), ToString::to_string);
    ErrorData::invalid_params(format!("{}: {}", request.method, wrong(&params)), None)
}

/// Returns why `params` are not a `T`.
fn wrong<T: DeserializeOwned>(params: &str) -> String {
    trl_proto::read::<T>(params).err().unwrap_or_else(|| "its parameters have the wrong shape".into())
}
