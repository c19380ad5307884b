//! The command line as types. Each command is implemented in the module of its name.

mod agents;
mod attach;
mod config;
mod daemon;
mod hooks;
mod opencode;
mod rules;
mod run;
mod sessions;
mod tokens;
mod ui;

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use omniglot_runtime::config::Listen;
use omniglot_server::{AllowedHost, AllowedOrigin};

use crate::completions;
use crate::mock_agent::MockAgentArgs;
pub(crate) use agents::*;
pub(crate) use attach::*;
pub(crate) use config::*;
pub(crate) use daemon::*;
pub(crate) use hooks::*;
pub(crate) use opencode::*;
pub(crate) use rules::*;
pub(crate) use run::*;
pub(crate) use sessions::*;
pub(crate) use tokens::*;
pub(crate) use ui::*;

#[derive(Debug, Parser)]
#[command(
    name = "omniglot",
    version,
    about = "One daemon that drives every coding agent",
    after_help = EXAMPLES,
    max_term_width = 80
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give an agent one task and watch it work
    #[command(after_help = RUN)]
    Run(RunArgs),
    /// Sit down at a session: see what happens, send messages, answer, cancel
    #[command(after_help = ATTACH)]
    Attach(AttachArgs),
    /// Open the screen in the browser: all sessions, and what waits for an answer
    #[command(after_help = ui::UI)]
    Ui(UiArgs),
    /// Be the agent of an editor: speak ACP on stdio for any agent of the daemon
    #[command(after_help = ACP)]
    Acp(AcpArgs),
    /// Look at sessions, talk to them, keep them
    #[command(alias = "session")]
    Sessions(SessionsArgs),
    /// See which agents there are and whether they work
    #[command(alias = "agent")]
    Agents(AgentsArgs),
    /// Make, list and revoke tokens for other people and programs
    #[command(alias = "token")]
    Tokens(TokensArgs),
    /// See how rules decide about a call
    #[command(alias = "rule")]
    Rules(RulesArgs),
    /// See who has changed what
    Audit(AuditArgs),
    /// See how the calls of hooks go, and send dead letters again
    #[command(alias = "hook")]
    Hooks(HooksArgs),
    /// Try whether the calls of hooks arrive
    Notify(NotifyArgs),
    /// Start, stop or look at a daemon in the background
    Daemon(DaemonArgs),
    /// Drive any agent from OpenCode's terminal interface
    Opencode(OpencodeArgs),
    /// Serve sessions over HTTP until stopped
    #[command(after_help = SERVE_VARIABLES)]
    Serve(ServeArgs),
    /// Turn recorded traffic of an agent into universal events, without a daemon
    #[command(after_help = CONVERT)]
    Convert(ConvertArgs),
    /// Look at the configuration: whether it is right, and what counts in the end
    Config(ConfigArgs),
    /// Look after the database of a data directory
    Db(DbArgs),
    /// Speak ACP on stdio as the built-in demo agent
    MockAgent(MockAgentArgs),
    /// Print what a shell needs to complete these commands
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write the manual pages of all commands into a directory
    Man(ManArgs),
    /// Hold an agent's processes, so that none outlives the daemon
    ///
    /// Taken before the command line is parsed; listed here so that the name stays reserved.
    #[command(hide = true)]
    Guard,
    /// Start a daemon that is no descendant of the process that needs it
    ///
    /// Taken before the command line is parsed, too.
    #[command(hide = true)]
    Launch,
    /// Say where the doctor of agents is
    #[command(hide = true)]
    Doctor(ElsewhereArgs),
    /// Print the OpenAPI document of the REST face
    #[command(hide = true)]
    Openapi,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct DataDirArgs {
    /// Where sessions are kept [default: $OMNIGLOT_HOME, else omniglot in the XDG data dir]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The configuration file [default: $OMNIGLOT_CONFIG, else omniglot.toml in the data dir]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The agent that was recorded; `acp` for one that is not listed
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: String,
    /// A short line for each event, to be read by people
    #[arg(long, visible_alias = "pretty")]
    pub(crate) show: bool,
    /// Recordings, or sessions of claude on disk; `-` reads stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Explains recordings and their conversion.
const CONVERT: &str = "\
A recording has one JSON object per line:

  {\"t\": MILLISECONDS, \"ch\": CHANNEL, \"data\": VALUE}

Each file becomes one session, named after it; its events are printed as JSON
lines. The same file always gives the same bytes. Pictures and other blobs that
events name are not written anywhere. Of claude, a session that it keeps on disk
(~/.claude/projects/*/SESSION.jsonl) is read as well, with those of its
subagents.

  omniglot convert --from gemini recording.jsonl > events.jsonl
  omniglot convert --from claude-acp --show recording.jsonl
  omniglot convert --from claude --show ~/.claude/projects/-work-demo/ID.jsonl";

/// The words after a command that is another one's.
#[derive(Debug, Args)]
pub(crate) struct ElsewhereArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory; made if it is missing
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// The IP address to listen on; any but loopback needs a token
    ///
    /// [default: the one in $OMNIGLOT_LISTEN, else in `listen` of the configuration, else 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_host)]
    pub(crate) host: Option<IpAddr>,
    /// The port to listen on; 0 picks a free one
    ///
    /// [default: the one in $OMNIGLOT_LISTEN, else in `listen` of the configuration, else 2468]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Address and port in one, as ADDRESS:PORT; or unix:PATH for a socket that only this user can use
    #[arg(long, value_name = "WHERE", value_parser = parse_listen, conflicts_with_all = ["host", "port"])]
    pub(crate) listen: Option<Listen>,
    /// Take a free port where the wanted one is taken
    #[arg(long, hide = true)]
    pub(crate) any_port: bool,
    /// Speak TLS with the certificate in this PEM file, which may hold its chain
    ///
    /// [default: `tls.cert` of the configuration, else plain HTTP]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    /// Accept this Host header too: NAME or NAME:PORT (repeatable)
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allow_hosts: Vec<AllowedHost>,
    /// Accept browsers from this origin, such as `https://app.example.com` (repeatable)
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub(crate) allow_origins: Vec<AllowedOrigin>,
    /// Leave the terminal behind: `daemon start` began this
    #[arg(long, hide = true)]
    pub(crate) detached: bool,
}

/// Where the daemon's token comes from; `OMNIGLOT_TOKEN` is read where these are resolved.
#[derive(Default, Args)]
pub(crate) struct TokenArgs {
    /// Read the token from this file
    ///
    /// [default: $OMNIGLOT_TOKEN, else `token_file` in the configuration, else the file `token` in the data dir]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_token", "token"])]
    pub(crate) token_file: Option<PathBuf>,
    /// The token itself; everybody on this machine can see it in the process list
    #[arg(long, value_name = "TOKEN", conflicts_with = "no_token")]
    pub(crate) token: Option<String>,
    /// Need no token: everybody who can reach the address may do everything
    #[arg(long)]
    pub(crate) no_token: bool,
}

impl std::fmt::Debug for TokenArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = self.token.as_ref().map(|_| "***");
        f.debug_struct("TokenArgs")
            .field("token_file", &self.token_file)
            .field("token", &token)
            .field("no_token", &self.no_token)
            .finish()
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The agent to use [default: default_agent of omniglot.toml, else mock]
    #[arg(long, value_name = "ID", add = completions::agent())]
    pub(crate) agent: Option<String>,
    /// The directory to work in [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "scratch")]
    pub(crate) cwd: Option<PathBuf>,
    /// Work in a fresh small demo project
    #[arg(long)]
    pub(crate) scratch: bool,
    /// Work in a git worktree of the session's own, on a new branch
    #[arg(long, conflicts_with = "scratch")]
    pub(crate) worktree: bool,
    /// The model to use
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Pass a model that the agent does not list
    #[arg(long, requires = "model")]
    pub(crate) force_model: bool,
    /// How much the agent may do unasked
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// How to answer permission requests [default: ask on a terminal, else reject]
    #[arg(long, value_enum)]
    pub(crate) approve: Option<Approve>,
    #[command(flatten)]
    pub(crate) settings: RunSettings,
    /// Continue this session, or create it
    #[arg(long, value_name = "ID", add = completions::session())]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
    /// Print every event as one JSON line
    #[arg(long)]
    pub(crate) json: bool,
    /// The task; - reads it from stdin
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
}

#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    /// The agent of new sessions [default: default_agent of omniglot.toml, else mock]
    #[arg(long, value_name = "ID", add = completions::agent())]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
}

/// Explains the setup in an editor.
const ACP: &str = "\
An editor launches this and talks ACP with it. Sessions are the daemon's, which
is started if it does not run: they outlive the editor, and any other client can
watch and answer them.

  {
    \"agent_servers\": {
      \"Claude\": {
        \"type\": \"custom\",
        \"command\": \"omniglot\", \"args\": [\"acp\", \"--agent\", \"claude\"]
      }
    }
  }

This is Zed's ~/.config/zed/settings.json; ~/.jetbrains/acp.json has the same
without \"type\".";

#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Read every row and name what is damaged; a daemon may go on meanwhile
    ///
    /// Exits with 0 when all is well, and with 1 when there are faults or the database cannot be read.
    Check(DbCheckArgs),
    /// Copy the database as it is now into a new file; a daemon may go on meanwhile
    Backup(DbFileArgs),
    /// Put a copy in the place of the database; no daemon may run
    ///
    /// The former database is kept beside it. Cursors of clients are refused afterwards: they read their sessions anew.
    Restore(DbFileArgs),
    /// Give the space of what was deleted back to the disk; no daemon may run
    Vacuum(DbVacuumArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DbFileArgs {
    /// The copy
    pub(crate) file: PathBuf,
    /// Where sessions are kept [default: $OMNIGLOT_HOME, else omniglot in the XDG data dir]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DbVacuumArgs {
    /// Where sessions are kept [default: $OMNIGLOT_HOME, else omniglot in the XDG data dir]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DbCheckArgs {
    /// Where sessions are kept [default: $OMNIGLOT_HOME, else omniglot in the XDG data dir]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print each fault, and the summary, as one JSON line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Allow every request, one at a time
    Once,
    /// Allow every request and all like it in this session
    Always,
    /// Refuse every request
    Reject,
    /// Ask at the keyboard
    Ask,
}

/// Explains Ctrl-C and the exit codes of a run.
const RUN: &str = "\
Ctrl-C cancels the turn and waits for its end; once more ends the session and
leaves.

Exit codes: 0 the turn ended well, 1 something failed, 2 the command cannot be
meant like this, 3 the turn stopped at a limit or was refused, 130 Ctrl-C.";

/// Explains the keys of an attached session.
const ATTACH: &str = "\
A line is a message; while a turn runs, it waits for the end of the turn. When
the agent asks, the next line is the answer. :cancel or Ctrl-C stops the turn,
:quit or Ctrl-D leaves, and so does Ctrl-C while nothing runs: the session goes
on. From a pipe, each line is sent when the one before it is answered.";

const EXAMPLES: &str = "\
Try it:
  omniglot run --agent mock --scratch \"Read README.md and add a line at the end\"
  omniglot agents list             which agents are here
  omniglot daemon start            keep a daemon for apps and for the commands
  omniglot attach ID               sit down at a session
  omniglot sessions tail -f ID     watch a session from its beginning

Exit codes: 0 all went well, 1 something failed, 2 the command cannot be meant
like this.";

const COMPLETIONS: &str = "\
For example:
  bash  omniglot completions bash \\
          > ~/.local/share/bash-completion/completions/omniglot
  zsh   omniglot completions zsh > ~/.zfunc/_omniglot
  fish  omniglot completions fish > ~/.config/fish/completions/omniglot.fish";

const SERVE_VARIABLES: &str = "\
Environment:
  OMNIGLOT_HOME           The data dir, unless --data-dir says otherwise
  OMNIGLOT_CONFIG         The configuration file, unless --config says otherwise
  OMNIGLOT_LISTEN         Where to listen, as ADDRESS:PORT or unix:PATH
  OMNIGLOT_DEFAULT_AGENT  The agent to use when nobody names one
  OMNIGLOT_SANDBOX        Whether agents are told that they run in a sandbox:
                          true or false
  OMNIGLOT_TOKEN          The token that clients must show
  OMNIGLOT_LOG            What the log on stderr tells: error, warn, info
                          (default), debug, trace, or by module, such as
                          warn,omniglot_runtime=debug
  OMNIGLOT_LOG_FORMAT     The form of that log: text (the default) or json
Options win over variables, and variables win over the configuration file.";

fn parse_host(text: &str) -> Result<IpAddr, String> {
    if text == "localhost" {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    text.parse().map_err(|_| "give an IP address, such as 127.0.0.1, ::1 or 0.0.0.0, or localhost".to_owned())
}

fn parse_listen(text: &str) -> Result<Listen, String> {
    Listen::parse(text, Path::new(""))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_host_or_origin_that_can_never_match_is_a_usage_error() {
        for (option, value) in [
            ("--allow-origin", "*"),
            ("--allow-origin", "null"),
            ("--allow-origin", "app.example.com"),
            ("--allow-host", "https://box"),
            ("--allow-host", "*.example.com"),
        ] {
            let error = Cli::try_parse_from(["omniglot", "serve", option, value]).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{option} {value}");
            assert!(error.to_string().contains(option), "{error}");
        }
        let good = ["omniglot", "serve", "--allow-host", "box", "--allow-origin", "http://localhost:3000"];
        assert!(Cli::try_parse_from(good).is_ok());
    }

    #[test]
    fn the_help_of_serve_names_the_variables() {
        let help = Cli::try_parse_from(["omniglot", "serve", "--help"]).unwrap_err().to_string();
        for name in ["OMNIGLOT_LOG", "OMNIGLOT_TOKEN", "OMNIGLOT_HOME"] {
            assert!(help.contains(name), "{help}");
        }
    }

    #[test]
    fn a_token_given_as_argument_is_not_shown() {
        let cli = Cli::try_parse_from(["omniglot", "serve", "--token", "hush-hush"]).unwrap();
        assert!(!format!("{cli:?}").contains("hush-hush"));
    }

    #[test]
    fn scratch_and_cwd_exclude_each_other() {
        assert!(Cli::try_parse_from(["omniglot", "run", "--scratch", "--cwd", ".", "x"]).is_err());
    }

    #[test]
    fn a_dash_is_a_prompt() {
        let cli = Cli::try_parse_from(["omniglot", "run", "-"]).unwrap();
        assert!(matches!(cli.command, Command::Run(RunArgs { prompt, .. }) if prompt == "-"));
    }
}
