//! `omniglot tokens`: makes, lists and revokes the named tokens of a daemon.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_schema::{CreateTokenRequest, TokenInfo};

use crate::cli::{CreateTokenArgs, RevokeArgs, TalkArgs, TokensArgs, TokensCommand};
use crate::print;
use crate::table::{Give, Sheet, Table};
use crate::times::{ago, moment};
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
        ("ID", Give::Whole),
        ("NAME", Give::Whole),
        ("SCOPE", Give::Whole),
        ("SESSIONS", Give::Shrinks),
        ("CREATED", Give::Whole),
        ("STATUS", Give::Whole),
    ]);
    for token in tokens {
        table.row([
            token.id.clone(),
            token.name.clone(),
            token.scope.to_string(),
            token.sessions.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string),
            ago(now, token.created_at),
            status(token, now),
        ]);
    }
    table
}

fn status(token: &TokenInfo, now: Timestamp) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(_), _) => "revoked".to_owned(),
        (None, Some(_)) if !token.is_valid_at(now.as_millisecond()) => "expired".to_owned(),
        (None, Some(expires)) => format!("until {}", moment(expires)),
        (None, None) => "valid".to_owned(),
    }
}

async fn revoke(args: &RevokeArgs) -> anyhow::Result<()> {
    with_daemon(&args.talk.data, async |client| {
        for id in &args.ids {
            client.revoke_token(id).await?;
        }
        Ok(())
    })
    .await?;
    if !args.talk.json {
        print::note(&format!("revoked {}", args.ids.join(", ")));
    }
    Ok(())
}
