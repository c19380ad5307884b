//! Finds credentials in what people configure: by the name beside a value, in addresses, in command lines.

/// Prefixes by which services mark their tokens.
const MARKED: [&str; 10] =
    ["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ", "omniglot_"];

/// A segment of a path that is so long and mixed is a token, as some services put it there.
const LONG: usize = 20;

/// Whether a name says that its value is a secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIAL"]
        .iter()
        .any(|word| name.contains(word))
}

/// Returns the credentials in an address: the password or token before the host, parameters whose name says so,
/// and segments of the path that are tokens.
pub fn secrets_in_url(url: &str) -> Vec<&str> {
    let Some((_, rest)) = url.split_once("://") else { return vec![] };
    let (rest, _) = rest.split_once('#').unwrap_or((rest, ""));
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let parameters = query.split('&').filter_map(|pair| pair.split_once('='));
    let parameters = parameters.filter(|(name, value)| names_a_secret(name) || is_token(value));
    let segments = path.split('/').filter(|segment| is_token(segment));
    let all = password.into_iter().chain(parameters.map(|(_, value)| value)).chain(segments);
    all.filter(|secret| !secret.is_empty()).collect()
}

/// Returns the credentials in the arguments of a program: `--token=VALUE`, `--token VALUE`, `API_KEY=VALUE`,
/// `Authorization: VALUE`, addresses with credentials, and tokens that are marked as such.
pub fn secrets_in_arguments(arguments: &[String]) -> Vec<&str> {
    let mut secrets = vec![];
    let mut awaited = false;
    for argument in arguments {
        let is_flag = argument.starts_with('-');
        if awaited && !is_flag {
            secrets.push(argument.as_str());
        }
        awaited = is_flag && !argument.contains('=') && names_a_secret(argument);
        secrets.extend(secrets_in_argument(argument));
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

fn secrets_in_argument(argument: &str) -> Vec<&str> {
    let named = |mark: char| argument.split_once(mark).filter(|(name, _)| names_a_secret(name));
    if let Some((_, value)) = named('=') {
        return vec![value];
    }
    if argument.contains("://") {
        return secrets_in_url(argument);
    }
    if let Some((_, value)) = named(':') {
        let value = value.trim();
        return vec![value.split_once(' ').map_or(value, |(_, token)| token)];
    }
    let value = argument.split_once('=').map_or(argument, |(_, value)| value);
    if MARKED.iter().any(|mark| value.starts_with(mark)) { vec![value] } else { vec![] }
}

fn is_token(text: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| text.as_bytes().iter().any(kind);
    text.len() >= LONG && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_an_address_are_found() {
        let of = secrets_in_url;
        assert_eq!(of("https://u:hush@h/p?api_key=k&x=1#token=t"), ["hush", "k"]);
        assert_eq!(of("https://ghp_x@h"), ["ghp_x"]);
        assert_eq!(of("https://h/s/MTIzNDU2Nzg5MGFiY2RlZg/mcp"), ["MTIzNDU2Nzg5MGFiY2RlZg"]);
        assert!(of("https://mcp.example.com/mcp?profile=default&v=2").is_empty());
        assert!(of("not an address").is_empty());
    }

    #[test]
    fn credentials_in_arguments_are_found() {
        let of = |line: &[&str]| {
            let arguments: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
            secrets_in_arguments(&arguments).join(" ")
        };
        assert_eq!(of(&["--token", "a", "--api-key=b", "-e", "API_KEY=c"]), "a b c");
        assert_eq!(of(&["--header", "Authorization: Bearer d", "--url", "https://u:e@h/"]), "d e");
        assert_eq!(of(&["sk-f", "--with=ghp_g"]), "sk-f ghp_g");
        assert_eq!(of(&["-y", "@modelcontextprotocol/server-github", "--port", "80", "/home/me"]), "");
    }
}
