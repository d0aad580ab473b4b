//! The manual pages: made from what clap knows of a command line, and from `man/NAME.roff`, which has the rest.
//!
//! A line `.\"@ KEY` in that file begins what is said at one place of the page: `DESCRIPTION`, an option, a subcommand,
//! an option of a subcommand (`lint --mcp`), and last `SECTIONS`, those after the options.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::{Arg, Command};
use clap_mangen::Man;

use crate::command_lines::{all, in_checkout, read};
use crate::harness::{Workspace, hold_generated, skipped};

/// What a person has written for a page, by its place there.
struct Prose(BTreeMap<String, String>);

impl Prose {
    fn of(name: &str) -> Prose {
        let text = read(&format!("man/{name}.roff"));
        let mut parts = BTreeMap::new();
        for part in text.split("\n.\\\"@ ").skip(1) {
            let (key, roff) = part.split_once('\n').expect("text below a key");
            let before = parts.insert(key.to_owned(), format!("{}\n", roff.trim_end()));
            assert!(before.is_none(), "man/{name}.roff has {key} twice");
        }
        Prose(parts)
    }

    /// The text for a place, which no other place gets.
    fn take(&mut self, key: &str) -> String {
        self.0.remove(key).unwrap_or_default()
    }
}

/// A text as roff has it where a minus sign is meant, and not a hyphen.
fn literal(text: &str) -> String {
    text.replace('-', "\\-")
}

fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", literal(text))
}

fn page(command: &Command) -> String {
    let name = command.get_name();
    let mut prose = Prose::of(name);
    let about = command.get_about().expect("what it does").to_string();
    let (first, rest) = about.split_at(1);
    let mut page = format!(
        ".\\\" scripts/generate writes this page.\n\
         .TH {} 1 \"\" \"gemini-tools {}\" \"User Commands\"\n.ad l\n\
         .SH NAME\n{name} \\- {}{}\n.SH SYNOPSIS\n{}",
        name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        first.to_lowercase(),
        literal(rest),
        synopsis(name, command),
    );
    for inner in command.get_subcommands() {
        page += &synopsis(&format!("{name} {}", inner.get_name()), inner);
    }
    // The macros of the synopsis turn hyphenation on.
    page += &format!(".nh\n.SH DESCRIPTION\n{}", prose.take("DESCRIPTION"));
    page += &format!(".SH OPTIONS\n{}", options(command.clone(), "", &mut prose));
    if command.has_subcommands() {
        page += ".SH COMMANDS\n";
    }
    for inner in command.get_subcommands() {
        let word = inner.get_name();
        let about = inner.get_about().expect("what it does").to_string();
        page += &format!(".SS {name} {word}\n{}.\n", literal(&about));
        page += &prose.take(word);
        // The page says once how to get help.
        let inner = inner.clone().disable_help_flag(true);
        page += &options(inner, &format!("{word} "), &mut prose);
    }
    page += &prose.take("SECTIONS");
    let unused: Vec<&String> = prose.0.keys().collect();
    assert!(
        unused.is_empty(),
        "man/{name}.roff: no place for {unused:?}"
    );
    page
}

/// The command line with all its options; those of which only one may be given stand together.
fn synopsis(words: &str, command: &Command) -> String {
    let mut choices: Vec<Vec<&Arg>> = Vec::new();
    for option in command.get_arguments().filter(|a| !a.is_positional()) {
        let excluded =
            |choice: &&mut Vec<&Arg>| choice.iter().all(|o| excludes(command, o, option));
        match choices.iter_mut().find(excluded) {
            Some(choice) => choice.push(option),
            None => choices.push(vec![option]),
        }
    }
    let mut text = format!(".SY {}\n", words.replace(' ', "\\ "));
    for choice in choices {
        let forms: Vec<String> = choice.iter().map(|option| form(option)).collect();
        let more = choice.len() == 1 && matches!(choice[0].get_action(), clap::ArgAction::Append);
        text += &format!(
            "[{}]{}\n",
            forms.join(" | "),
            if more { "...\\&" } else { "" }
        );
    }
    for argument in command.get_positionals() {
        let name = format!("\\fI{}\\fR", argument.get_id());
        let more = argument.get_num_args().is_some_and(|n| n.max_values() > 1);
        let form = if argument.is_required_set() {
            name
        } else {
            format!("[{name}]")
        };
        text += &format!("{form}{}\n", if more { "...\\&" } else { "" });
    }
    text + ".YS\n"
}

/// Whether only one of two options may be given.
fn excludes(command: &Command, one: &Arg, other: &Arg) -> bool {
    let names = |from: &Arg, to: &Arg| {
        let conflicts = command.get_arg_conflicts_with(from);
        conflicts.iter().any(|a| a.get_id() == to.get_id())
    };
    let in_group = command.get_groups().any(|group| {
        let has = |arg: &Arg| group.get_args().any(|id| id == arg.get_id());
        !group.clone().is_multiple() && has(one) && has(other)
    });
    names(one, other) || names(other, one) || in_group
}

/// An option with its value, where a line may break only before and after.
fn form(option: &Arg) -> String {
    let mut names = Vec::new();
    names.extend(option.get_short().map(|short| bold(&format!("-{short}"))));
    names.extend(option.get_long().map(|long| bold(&format!("--{long}"))));
    let mut form = names.join("|");
    if option.get_action().takes_values() {
        let value = option.get_value_names().expect("a name for the value");
        let value = format!("\\fI{}\\fR", value[0]);
        let may_lack = option.get_num_args().is_some_and(|n| n.min_values() == 0);
        form += &if may_lack {
            format!("\\ [{value}]")
        } else {
            format!("\\ {value}")
        };
    }
    form
}

/// The entries of a command's options and arguments, each with its help, its values, and what the prose has of it.
fn options(mut command: Command, before: &str, prose: &mut Prose) -> String {
    let mut more = Vec::new();
    let ids: Vec<_> = command
        .get_arguments()
        .map(|a| a.get_id().clone())
        .collect();
    for id in ids {
        command = command.mut_arg(id, |argument| {
            let key = argument.get_long().map(|long| format!("--{long}"));
            let key = key.unwrap_or_else(|| argument.get_id().to_string());
            let mut help = argument.get_help().expect("a help").to_string();
            let written = prose.take(&format!("{before}{key}"));
            let default = argument.get_default_values();
            if let Some(value) = default
                .first()
                .filter(|_| argument.get_action().takes_values())
            {
                help += &format!(" [default: {}]", value.to_string_lossy());
            }
            let mark = format!("@{}@", more.len());
            more.push(values(&argument, &written) + &written);
            let takes_values = argument.get_action().takes_values();
            argument
                .help(format!("{help}.\n{mark}"))
                .hide_default_value(takes_values)
                .hide_possible_values(takes_values)
        });
    }
    let mut roff = Vec::new();
    let man = Man::new(command);
    man.render_options_section(&mut roff).expect("its options");
    let roff = String::from_utf8(roff).expect("UTF-8");
    let Some((_, roff)) = roff.split_once(".SH OPTIONS\n") else {
        return String::new();
    };
    // Values are in italics and need no brackets, quotes are written without the definition that clap_mangen puts before
    // a whole page, and what clap says of its own options is a sentence as well.
    let mut roff = roff.to_owned();
    for (from, to) in [
        ("\\fI<", "\\fI"),
        (">\\fR", "\\fR"),
        ("\\*(Aq", "\\(aq"),
        ("\u{2026}", "..."),
        ("~", "\\(ti"),
        ("Print help\n", "Print help, with examples.\n"),
        ("Print version\n", "Print the version.\n"),
    ] {
        roff = roff.replace(from, to);
    }
    for (number, text) in more.iter().enumerate() {
        roff = roff.replace(&format!("@{number}@\n"), text);
    }
    roff
}

/// A sentence with the values that an option takes, unless what is written of it names each.
fn values(argument: &Arg, written: &str) -> String {
    let values = argument.get_possible_values();
    let values: Vec<String> = values.iter().map(|v| bold(v.get_name())).collect();
    let is_flag = !argument.get_action().takes_values();
    if is_flag || values.iter().all(|value| written.contains(value)) {
        return String::new();
    }
    let (last, others) = values.split_last().expect("a value");
    format!("The values are {} and {last}.\n", others.join(", "))
}

#[test]
fn generated_manual_pages_are_current() {
    for command in all() {
        let file = format!("man/{}.1", command.get_name());
        let wanted = page(&command);
        hold_generated(&file, &wanted);
    }
}

/// The long options of a command and its subcommands.
fn long_options(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(Arg::get_long);
    let mut options: BTreeSet<String> = own.map(str::to_owned).collect();
    options.extend(command.get_subcommands().flat_map(long_options));
    options
}

#[test]
fn the_prose_of_manual_pages_names_options_that_there_are() {
    let mut known: BTreeSet<String> = all().iter().flat_map(long_options).collect();
    // An option of Gemini CLI.
    known.insert("allowed-mcp-server-names".to_owned());
    for command in all() {
        let name = command.get_name();
        let prose = read(&format!("man/{name}.roff"));
        for bold in prose.split("\\fB\\-\\-").skip(1) {
            let option = bold.split(['\\', ' ']).next().filter(|o| !o.is_empty());
            let whole = bold.replace("\\-", "-");
            let option = option.and(whole.split(['\\', ' ']).next());
            assert!(
                option.is_none_or(|o| known.contains(o)),
                "man/{name}.roff: --{} is not an option",
                option.unwrap_or_default()
            );
        }
    }
}

#[test]
fn manual_pages_are_set_in_80_columns_without_a_warning_and_name_every_option() {
    if std::process::Command::new("groff")
        .arg("--version")
        .output()
        .is_err()
    {
        skipped("groff");
        return;
    }
    let ws = Workspace::new();
    for command in all() {
        let name = command.get_name();
        let page = in_checkout(&format!("man/{name}.1"));
        let page = page.to_str().expect("UTF-8");
        let groff = [
            "-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=80n", "-rHY=0", page,
        ];
        let answer = ws.program(Path::new("groff"), &groff).run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
        for line in answer.text().lines() {
            assert!(line.chars().count() <= 80, "{name}: too long: {line}");
        }
        for option in long_options(&command) {
            let entry = format!("--{option}");
            let is_entry = |line: &str| line.starts_with("       ") && line.contains(&entry);
            assert!(answer.text().lines().any(is_entry), "{name}: {entry}");
        }
    }
}
