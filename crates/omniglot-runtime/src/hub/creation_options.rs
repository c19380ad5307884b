//! Refuses what an agent does not take at the creation of a session: nobody should believe that it holds.

use omniglot_agents::CreationOptions;
use omniglot_schema::CreateSessionRequest;

use crate::agent::catalog::Catalog;
use crate::error::RuntimeError;

/// Some agents get it as an argument, of which the kernel takes no more than 128 KiB.
const LONGEST_SYSTEM_PROMPT: usize = 100 << 10;

/// Whether an agent takes an option.
type Takes = fn(&CreationOptions) -> bool;

pub(super) fn check(catalog: &Catalog, request: &CreateSessionRequest) -> Result<(), RuntimeError> {
    let options: [(_, _, Takes); 3] = [
        ("systemPrompt", request.system_prompt.is_some(), |takes| takes.system_prompt),
        ("allowedTools", request.allowed_tools.is_some(), |takes| takes.allowed_tools),
        ("maxTurns", request.max_turns.is_some(), |takes| takes.max_turns),
    ];
    let takes = &catalog.get(&request.agent)?.adapter.takes;
    for (option, is_set, taken) in options {
        if is_set && !taken(takes) {
            let can = catalog.entries().filter(|entry| taken(&entry.adapter.takes));
            let can = can.map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
            let detail = format!("the agent {} does not take `{option}`; these do: {can}", request.agent);
            return Err(RuntimeError::InvalidRequest(detail));
        }
    }
    let words = request.system_prompt.iter().map(|prompt| prompt.text());
    let mut words = words.chain(request.allowed_tools.iter().flatten().map(String::as_str));
    if words.any(|text| text.contains('\0')) {
        return Err(RuntimeError::InvalidRequest("`systemPrompt` and `allowedTools` take no NUL".to_owned()));
    }
    match request.system_prompt.as_ref().map_or(0, |prompt| prompt.text().len()) {
        length if length > LONGEST_SYSTEM_PROMPT => Err(RuntimeError::InvalidRequest(format!(
            "`systemPrompt` has {length} bytes; at most {LONGEST_SYSTEM_PROMPT} can be given to an agent: put the \
             rest into a file and name it"
        ))),
        _ => Ok(()),
    }
}
