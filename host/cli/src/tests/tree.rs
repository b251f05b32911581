//! Every command of the tree: it takes each form of result, and the help says what exit codes mean.

use crate::args::{Args, Output};
use clap::{Arg, Command, CommandFactory, Parser, ValueEnum};
use pliant_types::codes::{Code, exit_code};

/// One of them suits each argument that a command must have.
const VALUES: [&str; 4] =
    ["x", "1", "e_1", "sha256:0000000000000000000000000000000000000000000000000000000000000000"];

/// A command line for each command that has none below it, with all that it must be given.
fn command_lines() -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    leaves(&Args::command(), &["pliant".to_owned()], &mut lines);
    lines
}

fn leaves(command: &Command, path: &[String], lines: &mut Vec<Vec<String>>) {
    let below: Vec<_> = command.get_subcommands().filter(|c| c.get_name() != "help").collect();
    if below.is_empty() {
        lines.push(filled(command, path));
    }
    for command in below {
        leaves(command, &[path, &[command.get_name().to_owned()]].concat(), lines);
    }
}

fn filled(command: &Command, path: &[String]) -> Vec<String> {
    let required = command.get_arguments().filter(|arg| arg.is_required_set());
    // Some are required only where a flag is absent: then all positional ones are given.
    let positional = command.get_positionals();
    let fits = [required.collect::<Vec<_>>(), positional.collect()]
        .iter()
        .flat_map(|args| combinations(path, args))
        .find(|line| Args::try_parse_from(line).is_ok());
    fits.unwrap_or_else(|| panic!("no value of the table suits {path:?}: add one"))
}

fn combinations(path: &[String], args: &[&Arg]) -> Vec<Vec<String>> {
    let mut lines = vec![path.to_vec()];
    for arg in args {
        let values = values_of(arg);
        let longer = |line: &Vec<String>| -> Vec<Vec<String>> {
            values.iter().map(|value| [&line[..], value].concat()).collect()
        };
        lines = lines.iter().flat_map(longer).collect();
    }
    lines
}

fn values_of(arg: &Arg) -> Vec<Vec<String>> {
    let possible = arg.get_possible_values();
    let words: Vec<String> = match possible.first() {
        Some(first) => vec![first.get_name().to_owned()],
        None => VALUES.iter().map(|&value| value.to_owned()).collect(),
    };
    let flag = arg.get_long().map(|long| format!("--{long}"));
    words.into_iter().map(|word| flag.iter().cloned().chain([word]).collect()).collect()
}

#[test]
fn the_tree_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn every_command_takes_every_form_of_result_before_and_behind_it() {
    let lines = command_lines();
    assert!(lines.len() > 20, "the whole tree is walked: {lines:?}");
    for line in lines {
        for form in Output::value_variants() {
            let name = form.to_possible_value().unwrap().get_name().to_owned();
            for flag in ["-o", "--output"] {
                let asked = [flag.to_owned(), name.clone()];
                let behind = [&line[..], &asked].concat();
                let before = [&line[..1], &asked, &line[1..]].concat();
                for line in [behind, before] {
                    let args =
                        Args::try_parse_from(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
                    assert_eq!(args.global.output, *form, "{line:?}");
                }
            }
        }
    }
}

#[test]
fn every_command_takes_the_flags_that_find_a_cluster() {
    let flags =
        ["--addr", "127.0.0.1:1", "--token-file", "t", "--data-dir", "d", "--namespace", "n"];
    for line in command_lines() {
        let line: Vec<_> = line.into_iter().chain(flags.map(str::to_owned)).collect();
        let args = Args::try_parse_from(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
        assert_eq!(args.global.addr.as_deref(), Some("127.0.0.1:1"), "{line:?}");
        assert_eq!(args.global.namespace.as_str(), "n", "{line:?}");
    }
}

#[test]
fn every_command_says_what_it_does() {
    fn walk(command: &Command, silent: &mut Vec<String>) {
        if command.get_about().is_none() && !command.is_hide_set() {
            silent.push(command.get_name().to_owned());
        }
        command.get_subcommands().for_each(|below| walk(below, silent));
    }
    let mut silent = Vec::new();
    walk(&Args::command(), &mut silent);
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn the_help_says_what_every_exit_code_means() {
    let help = Args::command().render_help().to_string();
    let (_, codes) = help.split_once("Exit codes:").expect("the help has a list of exit codes");
    let words: Vec<_> = codes.split([';', '.']).map(str::trim).collect();
    let more = [exit_code::TIMED_OUT, exit_code::INTERRUPTED, exit_code::NOT_PLACED];
    let ended =
        [exit_code::DONE, exit_code::USAGE, exit_code::ROLLOUT_FAILED, exit_code::JOB_FAILED];
    let refused = Code::ALL.iter().map(|code| code.row().exit);
    for code in refused.chain(more).chain(ended) {
        let told = words.iter().any(|word| {
            word.strip_prefix(&code.to_string()).is_some_and(|rest| rest.starts_with(' '))
        });
        assert!(told, "exit code {code} is not in the help: {codes}");
    }
}
