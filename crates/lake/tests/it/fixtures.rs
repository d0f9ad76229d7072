//! What the tests share: the product's table descriptions, a small table of numbers, random rows.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, ListBuilder,
    MapBuilder, MapFieldNames, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use plimsoll_lake::{ColumnType, DataFile, Lake, Order, Schemas, Table, TableSchema};

/// Result of a test: any error fails it.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The table descriptions of the product.
pub(crate) fn product_schemas() -> Outcome<Arc<Schemas>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/tables");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        files.push((path.display().to_string(), std::fs::read_to_string(&path)?));
    }
    Ok(Arc::new(Schemas::load(files)?))
}

/// One table, `numbers`: a number and its day.
pub(crate) fn number_schemas() -> Outcome<Arc<Schemas>> {
    let text = r#"
        description = "one row per number"
        partition_by = ["day"]
        sort_by = ["n"]
        columns = [
          { name = "n", type = "bigint", required = true, doc = "number" },
          { name = "day", type = "date", required = true, doc = "its day" },
        ]"#;
    Ok(Arc::new(Schemas::load([("numbers.toml".to_owned(), text.to_owned())])?))
}

/// A fresh `numbers` table in memory.
pub(crate) async fn numbers() -> Outcome<Table> {
    let lake = Lake::open("memory://", number_schemas()?).await?;
    Ok(lake.table("numbers").await?)
}

/// Rows of `numbers`, all of one day.
pub(crate) fn rows(day: i32, numbers: impl IntoIterator<Item = i64>) -> Outcome<RecordBatch> {
    let numbers = Int64Array::from_iter_values(numbers);
    let days = Date32Array::from_value(day, numbers.values().len());
    Ok(RecordBatch::try_from_iter([
        ("n", Arc::new(numbers) as ArrayRef),
        ("day", Arc::new(days) as ArrayRef),
    ])?)
}

/// Writes rows of `numbers` as files, without committing them.
pub(crate) async fn written(
    table: &Table,
    day: i32,
    numbers: impl IntoIterator<Item = i64>,
) -> Outcome<Vec<DataFile>> {
    Ok(table.write(&[rows(day, numbers)?], Order::Sorted).await?)
}

/// All numbers that the table's files hold now, sorted: read from the files, not from the log.
pub(crate) async fn all(table: &Table) -> Outcome<Vec<i64>> {
    read(table, table.snapshot().await?.files()).await
}

/// All numbers that some files hold, sorted.
pub(crate) async fn read(table: &Table, files: &[DataFile]) -> Outcome<Vec<i64>> {
    let mut numbers = Vec::new();
    for file in files {
        for batch in table.read(file).await? {
            let column = batch.column_by_name("n").ok_or("no column n")?;
            let column = column.as_any().downcast_ref::<Int64Array>().ok_or("not bigint")?;
            numbers.extend_from_slice(column.values());
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Every row as text, sorted: what two sets of rows must have in common to be the same.
pub(crate) fn as_text(batches: &[RecordBatch]) -> Outcome<Vec<String>> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|c| c.value(row).try_to_string());
            rows.push(cells.collect::<Result<Vec<_>, _>>()?.join("|"));
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

/// A stream of numbers without a pattern, the same for the same seed (SplitMix64).
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap_or_default()]
    }

    fn text(&mut self) -> String {
        match self.below(8) {
            0 => String::new(),
            1 => "\u{e9}\u{1f6a2}\"\\\n".repeat(1 + usize::try_from(self.below(40)).unwrap_or(0)),
            2 => "x".repeat(200),
            _ => format!("{:016x}", self.roll()),
        }
    }

    fn number(&mut self) -> i64 {
        let any = self.roll().cast_signed();
        self.pick(&[any, i64::MIN, i64::MAX, 0, -1])
    }
}

/// Rows of any table: nulls wherever they may be, extremes of every type, three days.
pub(crate) fn random_rows(schema: &TableSchema, rows: usize, dice: &mut Dice) -> Outcome<RecordBatch> {
    let columns = schema.columns.iter().map(|column| {
        let mut cells: Vec<bool> = Vec::with_capacity(rows);
        for _ in 0..rows {
            cells.push(column.required || dice.below(4) > 0);
        }
        let partition = schema.partition_by.contains(&column.name);
        random_column(column.data_type, partition, &cells, dice)
    });
    let columns = columns.collect::<Outcome<Vec<ArrayRef>>>()?;
    Ok(RecordBatch::try_new(schema.arrow(), columns)?)
}

fn random_column(
    data_type: ColumnType,
    partition: bool,
    present: &[bool],
    dice: &mut Dice,
) -> Outcome<ArrayRef> {
    macro_rules! column {
        ($array:ty, $value:expr) => {
            Arc::new(<$array>::from_iter(present.iter().map(|there| there.then(|| $value))))
        };
    }
    Ok(match data_type {
        ColumnType::String => column!(StringArray, dice.text()),
        ColumnType::BigInt => column!(Int64Array, dice.number()),
        ColumnType::Int => column!(Int32Array, dice.number() as i32),
        ColumnType::Double => column!(Float64Array, {
            let any = f64::from_bits(dice.roll());
            dice.pick(&[any, 0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, 0.1])
        }),
        ColumnType::Boolean => column!(BooleanArray, dice.below(2) == 1),
        ColumnType::Timestamp => {
            let column: TimestampMicrosecondArray = present
                .iter()
                .map(|there| there.then(|| (dice.below(8_000_000_000_000_000)).cast_signed()))
                .collect();
            Arc::new(column.with_timezone("UTC"))
        }
        ColumnType::Date if partition => column!(Date32Array, 20_786 + dice.below(3) as i32),
        ColumnType::Date => column!(Date32Array, dice.below(100_000) as i32),
        ColumnType::Decimal => {
            let column: Decimal128Array =
                present.iter().map(|there| there.then(|| i128::from(dice.number()))).collect();
            Arc::new(column.with_precision_and_scale(38, 12)?)
        }
        ColumnType::StringList => {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new(
                "element",
                DataType::Utf8,
                true,
            ));
            for there in present {
                for _ in 0..dice.below(4) * u64::from(*there) {
                    lists.values().append_option((dice.below(5) > 0).then(|| dice.text()));
                }
                lists.append(*there);
            }
            Arc::new(lists.finish())
        }
        ColumnType::StringMap => {
            let mut maps = MapBuilder::new(Some(names()), StringBuilder::new(), StringBuilder::new());
            for there in present {
                for _ in 0..dice.below(3) * u64::from(*there) {
                    maps.keys().append_value(dice.text());
                    maps.values().append_option((dice.below(5) > 0).then(|| dice.text()));
                }
                maps.append(*there)?;
            }
            Arc::new(maps.finish())
        }
        ColumnType::BigIntMap => {
            let values = arrow::array::Int64Builder::new();
            let mut maps = MapBuilder::new(Some(names()), StringBuilder::new(), values);
            for there in present {
                for _ in 0..dice.below(3) * u64::from(*there) {
                    maps.keys().append_value(dice.text());
                    maps.values().append_value(dice.number());
                }
                maps.append(*there)?;
            }
            Arc::new(maps.finish())
        }
    })
}

fn names() -> MapFieldNames {
    MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() }
}
