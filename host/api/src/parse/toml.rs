//! TOML text to nodes. The only module that knows the tree of the TOML crate.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::node::{Key, Node, Position, Value};
use super::text::Lines;
use crate::problem::FieldError;

/// Reads a whole text: one job.
pub(super) fn read(text: &str) -> Result<Node, Vec<FieldError>> {
    let lines = Lines::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node {
            at: Position { line: 1, column: 1 },
            value: table_value(table.get_ref(), &lines),
        });
    }
    let located = errors.into_iter().map(|error| {
        let at = error.span().map_or(0, |span| span.start);
        FieldError::at("", lines.position(at), error.message().to_owned())
    });
    let mut located: Vec<FieldError> = located.collect();
    located.sort_by_key(|error| (error.line, error.column));
    Err(located)
}

fn table_value(table: &DeTable<'_>, lines: &Lines<'_>) -> Value {
    let entries = table.iter().map(|(key, child)| {
        let at = lines.position(key.span().start);
        (Key { at, name: key.get_ref().to_string() }, node(child, lines))
    });
    Value::Object(entries.collect())
}

fn node(value: &Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Node {
    let at = lines.position(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => {
            match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => Value::Integer(number),
                Err(_) => Value::Text(integer.to_string()),
            }
        }
        DeValue::Float(float) => match float.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => Value::Text(float.to_string()),
        },
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(|item| node(item, lines)).collect()),
        DeValue::Table(table) => table_value(table, lines),
    };
    Node { at, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_where_they_are() {
        let node = read("a = 1\n[b]\nc = [\"x\", { d = true }]\n").unwrap();
        assert_eq!(node.nearest("/a").at, Position { line: 1, column: 5 });
        assert_eq!(node.nearest("/b/c/1/d").at, Position { line: 3, column: 17 });
    }

    #[test]
    fn a_key_written_twice_is_an_error_with_its_place() {
        let errors = read("a = 1\nb = 2\na = 3\n").unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].line, Some(3));
    }
}
