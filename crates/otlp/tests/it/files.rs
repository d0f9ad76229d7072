//! Schemas and dialects from the files of the repository, for tests and benches.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A table's schema as the lake makes it from `schemas/tables`.
pub(crate) fn schema(table: &str) -> SchemaRef {
    let text = std::fs::read_to_string(repository().join(format!("schemas/tables/{table}.toml"))).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let fields = table["columns"].as_array().unwrap().iter().map(|column| {
        let data_type = match column["type"].as_str().unwrap() {
            "string" => DataType::Utf8,
            "bigint" => DataType::Int64,
            "int" => DataType::Int32,
            "double" => DataType::Float64,
            "boolean" => DataType::Boolean,
            "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            "date" => DataType::Date32,
            "list<string>" => DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))),
            _ => {
                let pair =
                    vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, true)];
                DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(pair.into()), false)), false)
            }
        };
        let required = column.get("required").is_some_and(|required| required.as_bool() == Some(true));
        Field::new(column["name"].as_str().unwrap(), data_type, !required)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The dialect files of the repository, in the order of their names.
pub(crate) fn dialect_files() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(repository().join("schemas/dialects")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}
