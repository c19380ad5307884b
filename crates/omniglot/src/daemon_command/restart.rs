//! `omniglot daemon restart`: stops the daemon of the data directory and starts another at its address.

use std::process::ExitCode;

use anyhow::ensure;
use omniglot_runtime::config::Listen;
use omniglot_store::lock_holder;

use super::{start, stop};
use crate::cli::{ServeArgs, StartArgs};
use crate::data_dir;
use crate::serve::{listen, refuse_open_network, tls};
use crate::token::{Wanted, refuse_named};

pub(crate) async fn restart(mut args: StartArgs) -> anyhow::Result<ExitCode> {
    let dir = data_dir::prepare(&args.serve.data)?;
    // A mistake must not leave the person without a daemon.
    let config = data_dir::config(&args.serve.data, &dir)?;
    let address = listen(&args.serve, &config);
    refuse_open_network(&args.serve, &address)?;
    let has_tls = tls(&args.serve, &config, &address)?.is_some();
    refuse_named(&args.serve.token, Wanted::Explicitly)?;
    if let Some(holder) = lock_holder(&dir) {
        if config.listen.is_none() {
            keep_address(&mut args.serve, &holder.url);
        }
        let has_tls = has_tls || tls(&args.serve, &config, &listen(&args.serve, &config))?.is_some();
        ensure!(
            has_tls || !holder.url.starts_with("https:"),
            "the daemon at {} speaks TLS by its options; give --tls-cert and --tls-key again",
            holder.url
        );
        stop::end(&dir).await?;
    }
    start::start(&args).await
}

/// Listens where the daemon listened before, unless the options say otherwise.
fn keep_address(args: &mut ServeArgs, url: &str) {
    if args.host.is_none() && args.port.is_none() && args.listen.is_none() {
        args.listen = Listen::of_url(url);
    }
}
