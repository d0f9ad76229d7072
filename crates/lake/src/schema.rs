//! Table descriptions: what `schemas/tables/*.toml` says, checked, and as Arrow and Delta schemas.
//!
//! The one source of names, types, units and descriptions; a file that says more than this module
//! understands is refused, so that a misspelt key cannot be lost. Loading folders is left to the
//! caller, who hands in texts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use serde::Deserialize;
use serde_json::json;

use crate::{Error, Result};

/// Digits and scale of money: `DECIMAL(38,12)`, US dollars down to a picodollar.
const MONEY: (u8, i8) = (38, 12);

/// Every table description, by name.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    tables: BTreeMap<String, Arc<TableSchema>>,
}

impl Schemas {
    /// Reads descriptions; each item is a file's name (its stem is the table's name) and its text.
    ///
    /// A later file replaces an earlier one of the same name, so a user's folder may follow the
    /// embedded one.
    ///
    /// # Errors
    /// [`Error::Description`] where a text is not a description or contradicts itself.
    pub fn load(files: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut tables = BTreeMap::new();
        for (file, text) in files {
            let table = TableSchema::parse(&file, &text)?;
            tables.insert(table.name.clone(), Arc::new(table));
        }
        Ok(Self { tables })
    }

    /// The description of one table.
    pub fn get(&self, name: &str) -> Option<&TableSchema> {
        self.tables.get(name).map(Arc::as_ref)
    }

    /// All descriptions, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &TableSchema> {
        self.tables.values().map(Arc::as_ref)
    }

    pub(crate) fn shared(&self, name: &str) -> Result<Arc<TableSchema>> {
        self.tables.get(name).cloned().ok_or_else(|| Error::UnknownTable {
            name: name.to_owned(),
            known: self.tables.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }
}

/// Description of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// Name, as in SQL.
    pub name: String,
    /// What a row is.
    pub description: String,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Columns that identify a row; empty where a row may stand twice.
    pub key: Vec<String>,
    /// Columns whose values divide the table into folders; always dates.
    pub partition_by: Vec<String>,
    /// Columns by which the rows of a compacted file are sorted.
    pub sort_by: Vec<String>,
    /// Codes that its columns hold, and what each means; empty where they hold none.
    pub codes: BTreeMap<String, String>,
    arrow: SchemaRef,
    in_file: SchemaRef,
    viewed: SchemaRef,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name, as in SQL.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub data_type: ColumnType,
    /// Unit of its numbers: `ms`, `tokens`, `USD`, ...
    #[serde(default)]
    pub unit: Option<String>,
    /// Whether it is never null.
    #[serde(default)]
    pub required: bool,
    /// What it says.
    pub doc: String,
}

/// Type of a column, by its name in the descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ColumnType {
    /// `string`: UTF-8 text.
    #[serde(rename = "string")]
    String,
    /// `bigint`: 64-bit integer.
    #[serde(rename = "bigint")]
    BigInt,
    /// `int`: 32-bit integer.
    #[serde(rename = "int")]
    Int,
    /// `double`: 64-bit float.
    #[serde(rename = "double")]
    Double,
    /// `boolean`.
    #[serde(rename = "boolean")]
    Boolean,
    /// `timestamp`: microseconds, UTC.
    #[serde(rename = "timestamp")]
    Timestamp,
    /// `date`: day.
    #[serde(rename = "date")]
    Date,
    /// `decimal`: money, `DECIMAL(38,12)`.
    #[serde(rename = "decimal")]
    Decimal,
    /// `list<string>`.
    #[serde(rename = "list<string>")]
    StringList,
    /// `map<string,string>`.
    #[serde(rename = "map<string,string>")]
    StringMap,
    /// `map<string,bigint>`.
    #[serde(rename = "map<string,bigint>")]
    BigIntMap,
}

impl ColumnType {
    /// The Arrow type; lists and maps carry the field names that the Parquet specification asks for.
    pub fn arrow(self) -> DataType {
        match self {
            Self::String => DataType::Utf8,
            Self::BigInt => DataType::Int64,
            Self::Int => DataType::Int32,
            Self::Double => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Date => DataType::Date32,
            Self::Decimal => DataType::Decimal128(MONEY.0, MONEY.1),
            Self::StringList => DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))),
            Self::StringMap => map_of(DataType::Utf8),
            Self::BigIntMap => map_of(DataType::Int64),
        }
    }

    /// The type in a Delta schema.
    pub(crate) fn delta(self) -> serde_json::Value {
        match self {
            Self::String => json!("string"),
            Self::BigInt => json!("long"),
            Self::Int => json!("integer"),
            Self::Double => json!("double"),
            Self::Boolean => json!("boolean"),
            Self::Timestamp => json!("timestamp"),
            Self::Date => json!("date"),
            Self::Decimal => json!(format!("decimal({},{})", MONEY.0, MONEY.1)),
            Self::StringList => {
                json!({"type": "array", "elementType": "string", "containsNull": true})
            }
            Self::StringMap => delta_map("string"),
            Self::BigIntMap => delta_map("long"),
        }
    }
}

fn map_of(value: DataType) -> DataType {
    let entry =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entry), false)), false)
}

/// A field with texts, inner ones too, as views.
fn viewed(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::List(element) => DataType::List(viewed(element)),
        DataType::Map(entries, sorted) => DataType::Map(viewed(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(viewed).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn delta_map(value: &str) -> serde_json::Value {
    json!({"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": true})
}

/// A description as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    description: String,
    #[serde(default)]
    key: Vec<String>,
    #[serde(default)]
    partition_by: Vec<String>,
    #[serde(default)]
    sort_by: Vec<String>,
    columns: Vec<Column>,
    #[serde(default)]
    codes: BTreeMap<String, String>,
}

impl TableSchema {
    fn parse(file: &str, text: &str) -> Result<Self> {
        let wrong = |reason: String| Error::Description { file: file.to_owned(), reason };
        let name = Path::new(file)
            .file_stem()
            .and_then(|stem| stem.to_str())
            .filter(|stem| is_identifier(stem))
            .ok_or_else(|| wrong("name it after its table, as in `spans.toml`".to_owned()))?;
        let written: Written =
            toml::from_str(text).map_err(|e| wrong(e.to_string().trim_end().to_owned()))?;
        let table = Self {
            name: name.to_owned(),
            description: written.description,
            columns: written.columns,
            key: written.key,
            partition_by: written.partition_by,
            sort_by: written.sort_by,
            codes: written.codes,
            arrow: Arc::new(Schema::empty()),
            in_file: Arc::new(Schema::empty()),
            viewed: Arc::new(Schema::empty()),
        };
        let table = table.with_arrow();
        table.check().map_err(wrong)?;
        Ok(table)
    }

    /// Says what in the description contradicts itself.
    fn check(&self) -> Result<(), String> {
        if self.columns.is_empty() {
            return Err("give it at least one column".to_owned());
        }
        for (at, column) in self.columns.iter().enumerate() {
            let name = &column.name;
            if !is_identifier(name) {
                return Err(format!("column `{name}`: use lower-case letters, digits and `_`"));
            }
            if self.columns.iter().take(at).any(|earlier| earlier.name == *name) {
                return Err(format!("column `{name}` stands twice; remove one"));
            }
        }
        for name in self.key.iter().chain(&self.sort_by) {
            self.column(name).ok_or_else(|| format!("there is no column `{name}` to key or sort by"))?;
        }
        for name in &self.partition_by {
            match self.column(name) {
                Some(Column { data_type: ColumnType::Date, .. }) => {}
                _ => return Err(format!("partition by date columns only; `{name}` is none")),
            }
        }
        Ok(())
    }

    /// The description of a table in which some columns may be null though they are required of what is
    /// written now.
    pub(crate) fn relaxed(self: &Arc<Self>, nullable: impl Fn(&str) -> bool) -> Arc<Self> {
        if !self.columns.iter().any(|column| column.required && nullable(&column.name)) {
            return Arc::clone(self);
        }
        let mut relaxed = Self::clone(self);
        for column in relaxed.columns.iter_mut().filter(|column| nullable(&column.name)) {
            column.required = false;
        }
        Arc::new(relaxed.with_arrow())
    }

    /// The Arrow schema of a whole row, partition columns included, in the order of the columns.
    pub fn arrow(&self) -> SchemaRef {
        Arc::clone(&self.arrow)
    }

    /// The Arrow schema of a data file: a whole row without the partition columns, whose values the
    /// log holds.
    pub fn arrow_in_file(&self) -> SchemaRef {
        Arc::clone(&self.in_file)
    }

    /// Like [`Self::arrow_in_file`] with texts as views: rows on their way from files into files, which are
    /// picked and put in order without their bytes being copied.
    pub(crate) fn arrow_viewed(&self) -> SchemaRef {
        Arc::clone(&self.viewed)
    }

    /// Makes the Arrow schemas of the columns.
    fn with_arrow(mut self) -> Self {
        let field = |c: &Column| Field::new(&c.name, c.data_type.arrow(), !c.required);
        let fields: Vec<Field> = self.columns.iter().map(field).collect();
        let in_file = fields.iter().filter(|f| !self.partition_by.contains(f.name())).cloned();
        self.in_file = Arc::new(Schema::new(in_file.collect::<Vec<_>>()));
        self.viewed = Arc::new(Schema::new(self.in_file.fields().iter().map(viewed).collect::<Vec<_>>()));
        self.arrow = Arc::new(Schema::new(fields));
        self
    }

    /// One column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The schema as the Delta log holds it, with descriptions as comments.
    pub(crate) fn delta(&self) -> serde_json::Value {
        let fields: Vec<_> = self
            .columns
            .iter()
            .map(|c| {
                let comment = match &c.unit {
                    Some(unit) => format!("{} [{unit}]", c.doc),
                    None => c.doc.clone(),
                };
                json!({
                    "name": c.name,
                    "type": c.data_type.delta(),
                    "nullable": !c.required,
                    "metadata": {"comment": comment.trim_start()},
                })
            })
            .collect();
        json!({"type": "struct", "fields": fields})
    }
}

/// Whether a name can be used in SQL and in paths without quotes.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Schemas> {
        Schemas::load([("tables/things.toml".to_owned(), text.to_owned())])
    }

    const GOOD: &str = r#"
        description = "one row per thing"
        key = ["id"]
        partition_by = ["day"]
        sort_by = ["id"]
        columns = [
          { name = "id", type = "string", required = true, doc = "name" },
          { name = "cost", type = "decimal", unit = "USD", doc = "price" },
          { name = "tags", type = "list<string>", doc = "" },
          { name = "seen", type = "map<string,bigint>", doc = "" },
          { name = "day", type = "date", required = true, doc = "day" },
        ]"#;

    /// The types and nullability that analysts and other engines rely on.
    #[test]
    fn a_description_gives_the_arrow_schema() -> Result<()> {
        let schemas = load(GOOD)?;
        let table = schemas.shared("things")?;
        let arrow = table.arrow();
        let types: Vec<String> = arrow.fields().iter().map(|f| f.data_type().to_string()).collect();
        assert_eq!(types[0], "Utf8");
        assert_eq!(types[1], "Decimal128(38, 12)");
        assert_eq!(types[4], "Date32");
        assert!(!arrow.field(0).is_nullable() && arrow.field(1).is_nullable());
        assert!(table.arrow_in_file().field_with_name("day").is_err());
        Ok(())
    }

    /// A misspelt key, a wrong type, a column that is not there: each is refused with its name.
    #[test]
    fn a_wrong_description_is_refused() {
        for (from, to, word) in [
            ("required = true", "requird = true", "requird"),
            ("\"decimal\"", "\"money\"", "money"),
            ("key = [\"id\"]", "key = [\"ident\"]", "ident"),
            ("partition_by = [\"day\"]", "partition_by = [\"id\"]", "id"),
            ("name = \"cost\"", "name = \"id\"", "twice"),
            ("name = \"cost\"", "name = \"Cost\"", "Cost"),
        ] {
            let told = load(&GOOD.replacen(from, to, 1)).err().map(|e| e.to_string());
            assert!(told.as_deref().is_some_and(|t| t.contains(word)), "{to}: {told:?}");
        }
    }

    /// The schema string that Spark, DuckDB and pandas parse.
    #[test]
    fn a_description_gives_the_delta_schema() -> Result<()> {
        let schemas = load(GOOD)?;
        let delta = schemas.shared("things")?.delta();
        assert_eq!(delta["fields"][1]["type"], "decimal(38,12)");
        assert_eq!(delta["fields"][1]["metadata"]["comment"], "price [USD]");
        assert_eq!(delta["fields"][3]["type"]["valueType"], "long");
        Ok(())
    }
}
