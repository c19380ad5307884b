//! `omniglot tokens`: makes, lists and revokes the named tokens of a daemon.

use std::process::ExitCode;

use anyhow::bail;
use jiff::Timestamp;
use omniglot_schema::{CreateTokenRequest, TokenInfo};

use crate::cli::{CreateTokenArgs, RevokeArgs, TalkArgs, TokensArgs, TokensCommand};
use crate::print;
use crate::table::{Give, Sheet, Table};
use crate::times::{ago, span};
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

pub(crate) async fn run(args: TokensArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        TokensCommand::Create(args) => create(args).await?,
        TokensCommand::List(args) => list(&args).await?,
        TokensCommand::Revoke(args) => revoke(&args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the secret alone on stdout, so that a script can take it.
async fn create(args: CreateTokenArgs) -> anyhow::Result<()> {
    let request = CreateTokenRequest {
        name: args.name,
        scope: args.scope.into(),
        sessions: args.sessions,
        expires_in_seconds: args.expires,
    };
    let created =
        with_daemon(&args.talk.data, async |client| Ok(client.create_token(&request).await?)).await?;
    if args.talk.json {
        return print::json(&created);
    }
    print::line(&created.secret)?;
    print::note(&format!("token {}; this is the only time that its secret is shown", created.info.id));
    Ok(())
}

async fn list(args: &TalkArgs) -> anyhow::Result<()> {
    let tokens = with_daemon(&args.data, async |client| Ok(client.tokens().await?)).await?;
    if args.json {
        return tokens.iter().try_for_each(print::json);
    }
    if tokens.is_empty() {
        print::note("there are no named tokens; `omniglot tokens create NAME --scope read` makes one");
        return Ok(());
    }
    print::text(&table(&tokens, Timestamp::now()).render(Sheet::of_stdout()))
}

fn table(tokens: &[TokenInfo], now: Timestamp) -> Table {
    let mut table = Table::new(&[
        ("NAME", Give::Whole),
        ("SCOPE", Give::Whole),
        ("SESSIONS", Give::Shrinks),
        ("CREATED", Give::Whole),
        ("STATUS", Give::Whole),
        ("ID", Give::Shrinks),
    ]);
    for token in tokens {
        table.row([
            token.name.clone(),
            token.scope.to_string(),
            token.sessions.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string),
            ago(now, token.created_at),
            status(token, now),
            token.id.clone(),
        ]);
    }
    table
}

fn status(token: &TokenInfo, now: Timestamp) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(_), _) => "revoked".to_owned(),
        (None, Some(_)) if !token.is_valid_at(now.as_millisecond()) => "expired".to_owned(),
        (None, Some(expires)) => {
            let left = expires.saturating_sub(now.as_millisecond()) / 1000;
            format!("{} left", span(u64::try_from(left).unwrap_or(0)))
        }
        (None, None) => "valid".to_owned(),
    }
}

async fn revoke(args: &RevokeArgs) -> anyhow::Result<()> {
    let revoked = with_daemon(&args.talk.data, async |client| {
        let known = client.tokens().await?;
        let ids = args.tokens.iter().map(|typed| find(typed, &known));
        let ids = ids.collect::<anyhow::Result<Vec<String>>>()?;
        for id in &ids {
            client.revoke_token(id).await?;
        }
        Ok(ids)
    })
    .await?;
    if !args.talk.json {
        print::note(&format!("revoked {}", revoked.join(", ")));
    }
    Ok(())
}

/// Returns the id of the token that a person names: by its id or the beginning of it, or by its name.
fn find(typed: &str, known: &[TokenInfo]) -> anyhow::Result<String> {
    if let Some(token) = known.iter().find(|token| token.id == typed) {
        return Ok(token.id.clone());
    }
    let fits = |token: &&TokenInfo| {
        token.revoked_at.is_none() && (token.name == typed || token.id.starts_with(typed))
    };
    let fits: Vec<&str> = known.iter().filter(fits).map(|token| token.id.as_str()).collect();
    match *fits {
        [] => bail!("no valid token {typed}; `omniglot tokens list` shows all"),
        [one] => Ok(one.to_owned()),
        _ => {
            let message =
                format!("{} tokens fit {typed}: {}; type more of the id", fits.len(), fits.join(", "));
            Err(UsageError::new(message).into())
        }
    }
}
