//! Lines of an agent that cannot be parsed, in the form of `agent.unparsed`.

use crate::contract::{LineFault, Output, Unparsed};

pub(crate) fn unparsed(location: impl Into<String>, error: impl Into<String>) -> Unparsed {
    Unparsed { error: error.into(), location: location.into(), raw_hash: None }
}

/// Returns the output for a line that is no message at all.
pub(crate) fn garbage(line: &[u8], fault: LineFault) -> Output {
    let error = match fault {
        LineFault::NotJson => "the line is not JSON".to_owned(),
        LineFault::NotUtf8 => "the line is not UTF-8".to_owned(),
        LineFault::TooLong(bytes) => format!("the line has {bytes} bytes, over the limit"),
    };
    let head: String = String::from_utf8_lossy(line).chars().take(200).collect();
    Output::unparsed(unparsed("stdout", format!("{error}: {head}")))
}
