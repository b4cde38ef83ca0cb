//! Mistakes in the command line, as clap finds them and as people read them.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use thiserror::Error;

use crate::cli::Cli;
use crate::error::{Exit, Explain};

/// A command line that makes no sense.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct UsageError {
    what: String,
    cause: String,
    help: String,
}

impl Explain for UsageError {
    fn cause(&self) -> String {
        self.cause.clone()
    }

    fn help(&self) -> String {
        self.help.clone()
    }

    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

impl UsageError {
    /// A mistake that clap cannot know of.
    pub fn new(what: impl Into<String>, cause: impl Into<String>, help: impl Into<String>) -> Self {
        UsageError { what: what.into(), cause: cause.into(), help: help.into() }
    }

    /// What clap found in the arguments of `subcommand`, in our form.
    pub fn from_clap(error: &clap::Error, subcommand: Option<&str>) -> Self {
        let mut command = Cli::command();
        command.build();
        let command = subcommand.and_then(|name| command.find_subcommand(name)).unwrap_or(&command);
        let usage = command.clone().render_usage().to_string();
        let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).trim();
        let more = format!("{} --help", command.get_bin_name().unwrap_or("stackclock"));
        UsageError {
            what: first_line(error),
            cause: reason(error).unwrap_or_else(|| format!("the usage is {usage}")),
            help: match hint(error, command) {
                Some(hint) => format!("{hint}; all options: {more}"),
                None => more,
            },
        }
    }
}

/// Which values there are, or what the parser of the value said.
fn reason(error: &clap::Error) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidValue => {
            context(error, ContextKind::ValidValue).map(|values| format!("the possible values are {values}"))
        }
        ErrorKind::ArgumentConflict => Some("each of the two excludes the other".to_owned()),
        _ => error.source().map(|source| source.to_string()),
    }
}

/// What was meant, where one can guess it.
fn hint(error: &clap::Error, command: &Command) -> Option<String> {
    let similar = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(similar) = similar.into_iter().find_map(|kind| context(error, kind)) {
        return Some(format!("perhaps {similar} was meant"));
    }
    let takes_command = command.get_positionals().any(Arg::is_last_set);
    if error.kind() != ErrorKind::UnknownArgument || !takes_command {
        return None;
    }
    let unexpected = context(error, ContextKind::InvalidArg).filter(|argument| !argument.starts_with('-'))?;
    Some(format!("a command follows two dashes: -- {unexpected}"))
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    error.get(kind).map(joined).filter(|text| !text.is_empty())
}

/// clap's own words for the mistake, without its `error: ` and the hints that follow in other lines.
fn first_line(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let mut lines = rendered.lines();
    let line = lines.next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    if let Some(introduction) = line.strip_suffix(':') {
        let listed: Vec<_> = lines.take_while(|line| line.starts_with("  ")).map(str::trim).collect();
        if !listed.is_empty() {
            return format!("{introduction}: {}", listed.join(", "));
        }
    }
    // `invalid value 'x' for '--rate <RATE>': reason`: the reason is our second line.
    match error.source().map(|source| format!(": {source}")) {
        Some(reason) => line.strip_suffix(&reason).unwrap_or(line).to_owned(),
        None => line.to_owned(),
    }
}

fn joined(value: &ContextValue) -> String {
    match value {
        ContextValue::None => String::new(),
        ContextValue::Strings(values) => values.join(", "),
        ContextValue::StyledStrs(values) => {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
