//! The help of the program: `-h` has one line for each option, `--help` all of its text.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, Command};

/// The commands by purpose, as `--help` lists them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Ask a process", &["ps", "info", "env", "trace", "dump"]),
    (
        "Test an implementation",
        &["server", "client", "codec", "fuzz-server", "check", "report", "explain"],
    ),
    ("Stand in for a runtime or a client, or between them", &["runtime", "proxy", "replay"]),
    ("Look at bytes and test data", &["decode", "encode", "list"]),
];

/// Lists the commands by groups, and prepares the requested help.
pub(crate) fn with_groups(command: Command) -> Command {
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
    let is_long = words.next().is_some_and(|word| word == "help" || word == "--help")
        || words.any(|word| word == "--help");
    // Some commands do not exist on every system.
    let line = |name: &&str| {
        let about = command.find_subcommand(name)?.get_about()?;
        Some(format!("  {name:<11}  {}\n", about.ansi()))
    };
    let group = |(title, names): (&str, &[&str])| {
        let lines: String = names.iter().filter_map(line).collect();
        format!("{title}:\n{lines}\n")
    };
    let groups: String = GROUPS.into_iter().map(group).collect();
    let command = if is_long { long(command) } else { command };
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

/// Puts the long texts in place of the short ones. Clap's own long help has at least three lines
/// for each option.
fn long(command: Command) -> Command {
    let about = command.get_long_about().or(command.get_about()).cloned();
    let statuses = command.get_after_long_help().cloned();
    command
        .about(Resettable::from(about))
        .long_about(Resettable::Reset)
        .after_help(Resettable::from(statuses))
        .after_long_help(Resettable::Reset)
        .mut_args(|argument| {
            let text = argument.get_long_help().or(argument.get_help());
            let text = text.map(|text| StyledStr::from(text.to_string().replace("\n\n", ". ")));
            argument
                .help(Resettable::from(text))
                .long_help(Resettable::Reset)
                .hide_short_help(false)
        })
        .disable_help_flag(true)
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::HelpShort)
                .help("Print help"),
        )
        .mut_subcommands(long)
}
