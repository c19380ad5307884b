//! The command line of `omniglot sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use omniglot_schema::Label;

use super::{Approve, DataDirArgs};
use crate::completions;

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, newest first
    #[command(alias = "ls")]
    List(ListArgs),
    /// Find what was said and done in all sessions: words, commands and paths
    Search(SearchArgs),
    /// Show one session: its state, and what waits for an answer
    Show(OneArgs),
    /// List the turns of a session, by the ids that `fork` and `revert` take
    Turns(OneArgs),
    /// Show what was said and done in a session
    Tail(TailArgs),
    /// Send a message to a session and watch its turn
    Send(SendArgs),
    /// Answer what the agent of a session waits for: the oldest permission or question
    Answer(AnswerArgs),
    /// Stop the running turn; the session goes on
    Cancel(CancelArgs),
    /// Make a session that begins with the turns and the memory of another
    Fork(ForkArgs),
    /// Have the agent of a session compact its context
    Compact(OneArgs),
    /// Change the title, model, modes or labels of a session
    Set(SetArgs),
    /// Give the files that a turn changed the content that they had before it
    ///
    /// The transcript stays as it is, and the agent is not told.
    Revert(RevertArgs),
    /// End a session and its agent; a later message starts it again
    Terminate(SomeArgs),
    /// Delete a session with everything that is kept of it
    #[command(alias = "delete")]
    Rm(RmArgs),
    /// Write a session to a file that another omniglot can import
    Export(ExportArgs),
    /// Make a session of an exported file
    ///
    /// The agent does not remember an imported session: its next message says so.
    Import(ImportArgs),
}

impl SessionsCommand {
    /// Returns the data directory of a command about what is there already.
    pub(crate) fn looks_into(&self) -> Option<&DataDirArgs> {
        Some(match self {
            Self::List(args) => &args.talk.data,
            Self::Search(args) => &args.talk.data,
            Self::Show(args) | Self::Turns(args) | Self::Compact(args) => &args.talk.data,
            Self::Tail(args) => &args.session.talk.data,
            Self::Send(args) => &args.session.talk.data,
            Self::Answer(args) => &args.session.talk.data,
            Self::Cancel(args) => &args.sessions.talk.data,
            Self::Fork(args) => &args.origin.talk.data,
            Self::Set(args) => &args.session.talk.data,
            Self::Revert(args) => &args.session.talk.data,
            Self::Terminate(args) => &args.talk.data,
            Self::Rm(args) => &args.sessions.talk.data,
            Self::Export(args) => &args.data,
            Self::Import(_) => return None,
        })
    }
}

/// The arguments of every command that uses a daemon.
#[derive(Debug, Args)]
pub(crate) struct TalkArgs {
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "ID", add = completions::agent())]
    pub(crate) agent: Option<String>,
    /// Only sessions that have ended
    #[arg(long, conflicts_with = "open")]
    pub(crate) ended: bool,
    /// Only sessions that have not ended
    #[arg(long)]
    pub(crate) open: bool,
    /// Only sessions with this label (repeatable)
    #[arg(long = "label", value_name = "LABEL=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The words, all of which an item must have; the last may be the beginning of one. What is around the first is shown
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) words: Vec<String>,
    /// At most so many
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// The session, or the beginning of its id
    #[arg(value_name = "ID", add = completions::session())]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SomeArgs {
    /// The sessions, or the beginnings of their ids
    #[arg(value_name = "ID", required = true, add = completions::session())]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) session: OneArgs,
    /// once, always or reject for a permission; a label, its number or a text for each question
    #[arg(value_name = "ANSWER", conflicts_with = "reject")]
    pub(crate) answers: Vec<String>,
    /// Refuse the permission, or to answer the question
    #[arg(long)]
    pub(crate) reject: bool,
    /// Why a permission is rejected, for agents that take it
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    #[command(flatten)]
    pub(crate) origin: OneArgs,
    /// The id of the new session [default: a new one]
    #[arg(long = "as", value_name = "ID")]
    pub(crate) new: Option<String>,
    /// The turn before which the copy ends, for agents that can go back [default: it has everything]; `sessions turns` lists them
    #[arg(long, value_name = "TURN")]
    pub(crate) before: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) session: OneArgs,
    /// The title; an empty one removes it
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// The model from the next prompt on
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Pass a model that the agent does not list
    #[arg(long, requires = "model")]
    pub(crate) force_model: bool,
    /// How hard the model thinks, or another variant of it
    #[arg(long)]
    pub(crate) variant: Option<String>,
    /// The mode of the agent, such as plan
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// How much the agent may do unasked
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// Set this label (repeatable)
    #[arg(long = "label", value_name = "LABEL=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Remove this label (repeatable)
    #[arg(long = "remove-label", value_name = "LABEL")]
    pub(crate) remove_labels: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) sessions: SomeArgs,
    /// Also drop the messages that wait
    #[arg(long)]
    pub(crate) drop_queue: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    #[command(flatten)]
    pub(crate) session: OneArgs,
    /// The turn, of those that `sessions turns` lists [default: the last one that is not reverted; with --undo, the last that is]
    #[arg(long, value_name = "TURN")]
    pub(crate) turn: Option<String>,
    /// Also where files were changed after the turn
    #[arg(long)]
    pub(crate) force: bool,
    /// Take the revert back
    #[arg(long)]
    pub(crate) undo: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    #[command(flatten)]
    pub(crate) sessions: SomeArgs,
    /// Do not ask; needed where there is no terminal to ask at
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Also lose work that only the session's worktree has
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    pub(crate) session: OneArgs,
    /// Go on as the session does, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Show the agent's own messages too
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) session: OneArgs,
    /// The message; - reads it from stdin
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// Leave once the daemon has the message
    #[arg(long, conflicts_with = "approve")]
    pub(crate) no_wait: bool,
    /// How to answer permission requests [default: ask on a terminal, else reject]
    #[arg(long, value_enum)]
    pub(crate) approve: Option<Approve>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The session, or the beginning of its id
    #[arg(value_name = "ID", add = completions::session())]
    pub(crate) id: String,
    /// The file to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// With the agent's own messages
    #[arg(long)]
    pub(crate) raw: bool,
    /// Write traces of OpenTelemetry instead: OTLP as JSON, one line for each turn
    #[arg(long, conflicts_with = "raw")]
    pub(crate) otel: bool,
    /// Send the traces to a collector, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", requires = "otel", conflicts_with = "output")]
    pub(crate) endpoint: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file to read; - reads stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The id of the new session [default: the one that it had]
    #[arg(long = "as", value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The directory to work in from now on [default: the one that it had]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}
