//! The variables that take precedence over the configuration file. The token's and the data directory's are
//! read where these are resolved.

use std::path::Path;

use omniglot_agents::Registry;
use omniglot_runtime::config::{Config, Listen};

use crate::usage::UsageError;

pub(crate) const CONFIG: &str = "OMNIGLOT_CONFIG";
/// The address of a daemon that commands use in the place of the data directory's own.
pub(crate) const URL: &str = "OMNIGLOT_URL";
/// The file with the authorities that vouch for it.
pub(crate) const CA: &str = "OMNIGLOT_CA";
pub(crate) const LISTEN: &str = "OMNIGLOT_LISTEN";
pub(crate) const DEFAULT_AGENT: &str = "OMNIGLOT_DEFAULT_AGENT";
pub(crate) const SANDBOX: &str = "OMNIGLOT_SANDBOX";

/// Returns a variable of this process; many tools set an empty one for "unset".
pub(crate) fn of_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Applies the variables to the configuration.
pub(crate) fn apply(mut config: Config, get: impl Fn(&str) -> Option<String>) -> Result<Config, UsageError> {
    let refuse = |name: &str, message: &str| UsageError::new(format!("{name}: {message}"));
    if let Some(text) = get(LISTEN) {
        config.listen =
            Some(Listen::parse(&text, Path::new("")).map_err(|message| refuse(LISTEN, &message))?);
    }
    if let Some(name) = get(DEFAULT_AGENT) {
        config.default_agent = Some(name);
        config
            .check_default_agent(&Registry::default())
            .map_err(|message| refuse(DEFAULT_AGENT, &message))?;
    }
    if let Some(text) = get(SANDBOX) {
        config.sandbox = match text.as_str() {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => return Err(refuse(SANDBOX, "expected true or false")),
        };
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Config, String> {
        let file = Config {
            listen: Listen::parse("127.0.0.1:1", Path::new("")).ok(),
            sandbox: true,
            ..Config::default()
        };
        apply(file, |asked| (asked == name).then(|| value.to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn a_variable_wins_over_the_file() {
        assert_eq!(with(LISTEN, "[::1]:80").unwrap().listen.unwrap().to_string(), "[::1]:80");
        assert_eq!(with(DEFAULT_AGENT, "gemini").unwrap().default_agent(), "gemini");
        assert!(!with(SANDBOX, "false").unwrap().sandbox);
        let untouched = with("OTHER", "x").unwrap();
        assert_eq!(
            (untouched.listen.unwrap().to_string().as_str(), untouched.sandbox),
            ("127.0.0.1:1", true)
        );
    }

    #[test]
    fn a_bad_variable_is_refused_by_its_name() {
        for (name, words) in
            [(LISTEN, "an IP address"), (DEFAULT_AGENT, "does not exist"), (SANDBOX, "true or")]
        {
            let refusal = with(name, "nonsense").unwrap_err();
            assert!(refusal.starts_with(name) && refusal.contains(words), "{refusal}");
        }
    }
}
