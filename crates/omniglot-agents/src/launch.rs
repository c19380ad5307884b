//! How an agent is started, as data. The runtime starts it; nothing here touches a process.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The command line and environment of an agent process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub program: String,
    pub args: Vec<String>,
    /// Added to the inherited environment.
    pub env: IndexMap<String, String>,
}

/// Values in `env` are often secrets, so only their names are shown.
impl fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchSpec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_environment() {
        let env = IndexMap::from([("KEY".to_owned(), "hush".to_owned())]);
        let spec = LaunchSpec { program: "agent".into(), args: vec![], env };
        assert_eq!(format!("{spec:?}"), r#"LaunchSpec { program: "agent", args: [], env: ["KEY"] }"#);
    }
}
