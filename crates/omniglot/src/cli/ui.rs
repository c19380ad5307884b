//! The command line of `omniglot ui`.

use clap::Args;

use super::DataDirArgs;

#[derive(Debug, Args)]
pub(crate) struct UiArgs {
    /// Let the screen also delete, install agents and show native frames
    #[arg(long)]
    pub(crate) admin: bool,
    /// Print the address and open nothing
    #[arg(long, visible_alias = "no-open")]
    pub(crate) print: bool,
    /// Where the browser reaches the daemon, if not at its own address: a proxy, a tunnel
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) data: DataDirArgs,
}

/// Explains the address.
pub(super) const UI: &str = "\
The screen shows the sessions of all agents, live, and everything that waits for
an answer. A daemon is started in the background if there is none, and stays.

The address has a token of 12 hours with the scope `drive` (`admin` with
--admin), behind `#`, where it reaches no server and no log. Who has the address
has the token: `omniglot tokens list` names it, `omniglot tokens revoke ID` ends
it.

  omniglot ui
  omniglot ui --print --url https://agents.example.com";

/// Reads the address before `/ui/`.
fn parse_base(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    match rest {
        Some(rest) if !rest.is_empty() && rest.chars().all(plain) => {
            let base = text.trim_end_matches('/');
            Ok(base.strip_suffix("/ui").unwrap_or(base).to_owned())
        }
        _ => Err("an address such as https://agents.example.com is wanted".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_with_or_without_the_page() {
        for text in ["https://a.example:1", "https://a.example:1/", "https://a.example:1/ui/"] {
            assert_eq!(parse_base(text).unwrap(), "https://a.example:1");
        }
        for text in ["a.example", "ftp://a", "http://", "http://a/\"><script>", "http://a/#b"] {
            assert!(parse_base(text).is_err(), "{text}");
        }
    }
}
