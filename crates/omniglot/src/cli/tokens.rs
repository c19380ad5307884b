//! The command lines of `omniglot tokens` and `omniglot audit`.

use clap::{Args, Subcommand, ValueEnum};
use omniglot_schema::{Label, Scope};

use super::sessions::TalkArgs;
use crate::times::{Since, parse_seconds};

#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    pub(crate) command: TokensCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Make a token and print its secret, this once
    #[command(after_help = SCOPES)]
    Create(CreateTokenArgs),
    /// List the tokens, without their secrets
    #[command(alias = "ls")]
    List(TalkArgs),
    /// Refuse tokens from now on and end their streams
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenArgs {
    /// Who has it, as events and the audit name the author: 1 to 64 of A-Z a-z 0-9 . _ @ -
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The calls that it allows
    #[arg(long, value_enum)]
    pub(crate) scope: ScopeArg,
    /// Let it see only sessions with this label, and make only such
    #[arg(long, value_name = "LABEL=VALUE")]
    pub(crate) sessions: Option<Label>,
    /// Refuse it after this time, such as 30m, 12h or 7d
    #[arg(long, value_name = "DURATION", value_parser = parse_seconds)]
    pub(crate) expires: Option<u64>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    Read,
    Answer,
    Drive,
    Admin,
    Metrics,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Read => Self::Read,
            ScopeArg::Answer => Self::Answer,
            ScopeArg::Drive => Self::Drive,
            ScopeArg::Admin => Self::Admin,
            ScopeArg::Metrics => Self::Metrics,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// The tokens: their names, their ids, or the beginnings of these
    #[arg(value_name = "TOKEN", required = true)]
    pub(crate) tokens: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only since then: a duration such as 24h, or a time such as 2026-11-17T08:00:00Z
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<Since>,
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// Explains the scopes.
const SCOPES: &str = "\
Scopes, each with all before it:
  read     look at sessions, events, blobs and agents
  answer   reply to permissions and questions
  drive    create sessions, send messages, cancel and change: as much as a shell
           of the daemon's user
  admin    delete, import, see native frames, install agents, run processes,
           configure MCP servers and skills of directories, use files of
           configured roots, manage tokens, read the audit
and, alone:
  metrics  read /metrics

A client sends the secret as `Authorization: Bearer SECRET`; OpenCode's as its
password. Commands of omniglot use it from OMNIGLOT_TOKEN.";
