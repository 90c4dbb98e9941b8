//! `[runtimes.NAME]`: a place where sessions can live.

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use trl_proto::runtime::RuntimeSpec;

/// The section these tables stand in.
pub(super) const SECTION: &str = "runtimes";

pub(super) fn read(table: &DeTable<'_>) -> Result<RuntimeSpec, String> {
    serde_json::from_value(of_table(table)?).map_err(|e| format!("is no runtime: {e}"))
}

fn of_table(table: &DeTable<'_>) -> Result<Value, String> {
    let members =
        table.iter().map(|(name, value)| Ok((name.get_ref().to_string(), of_value(value.get_ref())?)));
    Ok(Value::Object(members.collect::<Result<_, String>>()?))
}

fn of_value(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(is) => Value::Bool(*is),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            Value::from(number.map_err(|e| e.to_string())?)
        }
        DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().map_err(|e| e.to_string())?),
        DeValue::Datetime(_) => return Err("must not be a date".into()),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| of_value(item.get_ref())).collect::<Result<_, String>>()?)
        }
        DeValue::Table(table) => of_table(table)?,
    })
}
