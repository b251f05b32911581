//! The pages of error and wait codes say what the code says. Source: docs/reference/errors.md.
//! `UPDATE_EXPECT=1` writes the page anew.

use std::fmt::Write as _;

use expect_test::expect_file;
use pliant_types::codes::{Code, WaitCode};

/// The page, made from the tables.
fn page() -> String {
    let mut page = String::from(HEAD);
    for code in Code::ALL {
        let row = code.row();
        let retry = if row.retryable { "yes" } else { "no" };
        writeln!(
            page,
            "| `{}` | {} | {} | {retry} | {} | {} |",
            row.word, row.http_status, row.exit, row.meaning, row.action
        )
        .expect("a string takes everything");
    }
    page += WAITS;
    for code in WaitCode::ALL {
        writeln!(page, "| `{code}` | {} |", code.meaning()).expect("a string takes everything");
    }
    page
}

const HEAD: &str = "# Errors

Every refusal has a code. The code is stable: scripts may match on it. `pliant explain CODE` prints the same. Over HTTP a refusal is a
problem detail (RFC 9457); the CLI ends with the exit code. *Again* says whether the same request may succeed later without a change.

| code | HTTP | exit | again | what it means | what to do |
|---|---|---|---|---|---|
";

const WAITS: &str = "
# Reasons for waiting

What waits is no error. `pliant why` names the reason with its numbers.

| code | what it means |
|---|---|
";

#[test]
fn the_page_of_errors_is_the_table_of_codes() {
    expect_file!["../../docs/reference/errors.md"].assert_eq(&page());
}
