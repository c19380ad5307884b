//! `omniglot ui`: makes a token for the screen in the browser, and opens or prints the address that has it.
//!
//! The daemon serves the page to everybody; without a token it shows nothing.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context as _;
use omniglot_schema::{CreateTokenRequest, Scope};
use omniglot_store::private;

use crate::cli::UiArgs;
use crate::connect::{Home, client, explain};
use crate::daemon_command::background;
use crate::usage::UsageError;
use crate::{print, token};

/// How long the token is valid.
const HOURS: u64 = 12;

/// The file that leads a browser to the screen, within the private directory.
const REDIRECT: &str = "open-ui.html";

pub(crate) async fn run(args: UiArgs) -> anyhow::Result<ExitCode> {
    let home = Home::of(&args.data)?;
    let holder = background(&args.data).await?;
    let base = args.url.as_deref().unwrap_or(&holder.url);
    refuse_unless_http(base)?;
    let daemon = client(&holder, token::for_client(&home.dir, home.config.token_file.as_deref())?)?;
    let request = CreateTokenRequest {
        name: format!("ui-{}-{}", person(), token::random_hex::<3>()?),
        scope: if args.admin { Scope::Admin } else { Scope::Drive },
        sessions: None,
        expires_in_seconds: Some(HOURS * 3600),
    };
    let created = daemon.create_token(&request).await.map_err(explain)?;
    let address = format!("{base}/ui/#token={}&scope={}", created.secret, created.info.scope);
    let told = format!("token {} ({}), valid for {HOURS} h", created.info.name, created.info.scope);
    match opener().filter(|_| !args.print) {
        Some(program) => {
            open(&program, &redirect_page(&home.dir, &address)?)?;
            let instead = "`omniglot ui --print` prints an address";
            print::note(&format!("the browser opens {base}/ui/ with {told}; {instead}"));
        }
        None => {
            print::line(&address)?;
            print::note(&format!("{told}; who has this address has the token"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A browser knows no sockets in the file system.
fn refuse_unless_http(base: &str) -> Result<(), UsageError> {
    if base.starts_with("http://") || base.starts_with("https://") {
        return Ok(());
    }
    Err(UsageError::new(format!(
        "no browser reaches {base}; give the address of a proxy before the daemon as `--url http://NAME:PORT`"
    )))
}

/// Returns the user's name as far as a token's name can have it.
fn person() -> String {
    let user = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let plain: String = user.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    if plain.is_empty() { "someone".to_owned() } else { plain }
}

/// Returns the program that opens a file in the person's browser, if there is a screen to open it on.
fn opener() -> Option<PathBuf> {
    let mac = cfg!(target_os = "macos");
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let screen = mac || set("DISPLAY") || set("WAYLAND_DISPLAY");
    let name = if mac { "open" } else { "xdg-open" };
    let path = std::env::var_os("PATH").filter(|_| screen)?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Writes a page that only this user can read and that leads to the address: every user of the machine could read it
/// as an argument.
fn redirect_page(dir: &Path, address: &str) -> anyhow::Result<PathBuf> {
    let path = private(dir).join(REDIRECT);
    let address = address.replace('&', "&amp;");
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={address}\"><a href=\"{address}\">Omniglot</a>\n"
    );
    let written = || {
        // One that is there may have other permissions.
        if path.exists() {
            fs::remove_file(&path)?;
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(page.as_bytes())
    };
    written().with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Starts the program and leaves it alone: some stay as long as the browser does.
fn open(program: &Path, file: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command.spawn().map(drop).with_context(|| {
        format!("{} cannot be started; `omniglot ui --print` prints the address", program.display())
    })
}
