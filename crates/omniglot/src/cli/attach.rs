//! The command line of `omniglot attach`.

use clap::Args;

use super::sessions::OneArgs;

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    pub(crate) session: OneArgs,
    /// Begin with so many lines of what was said before
    #[arg(long, value_name = "LINES", default_value_t = 40)]
    pub(crate) history: usize,
}
