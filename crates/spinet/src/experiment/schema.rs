//! Schema of an experiment: the common keys and those of one kind of card.

use super::common::{Common, Section};
use crate::schema::without_links;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The schema of the experiments of one kind of card.
pub fn of<T: Section>() -> Value {
    // One generator, so that names of definitions are unique.
    let mut generator = SchemaGenerator::default();
    let [common, mut schema] = [Common::json_schema(&mut generator), T::json_schema(&mut generator)].map(Value::from);
    let of = |schema: &Value| schema["properties"].as_object().cloned().unwrap_or_default();
    let properties: Map<String, Value> = of(&common).into_iter().chain(of(&schema)).collect();
    schema["properties"] = Value::Object(properties);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(T::schema_name());
    schema["properties"]["nic"]["default"] = json!({ "preset": T::KIND.example });
    schema["properties"]["stall_limit"]["default"] = json!(T::KIND.stall_limit);
    schema["additionalProperties"] = json!(false);
    schema["$defs"] = Value::Object(generator.take_definitions(true));
    without_links(&schema)
}
