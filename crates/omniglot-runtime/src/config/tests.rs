//! Good files, bad files and what is said of them.

use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("omniglot.toml"), text, &Registry::default()).map_err(|e| e.to_string())
}

#[track_caller]
fn refused(text: &str, place: &str, words: &str) {
    let message = parse(text).unwrap_err();
    assert!(message.starts_with(&format!("omniglot.toml:{place}: ")), "{message}");
    assert!(message.contains(words), "{message}");
}

#[test]
fn a_whole_file_is_read() {
    let config = parse(
        "default_agent = \"goose\"\n\
         [agents.goose]\nprotocol = \"acp\"\ncommand = [\"goose\", \"acp\"]\nenv = { KEY = \"v\" }\n\
         [limits]\nhandshake_seconds = 5\n",
    )
    .unwrap();
    assert_eq!(config.default_agent(), "goose");
    assert_eq!(config.agents["goose"].command, ["goose", "acp"]);
    assert_eq!(config.agents["goose"].env["KEY"], "v");
    assert_eq!(config.limits, Limits { handshake_seconds: 5, ..Limits::default() });
}

#[test]
fn an_empty_file_means_the_built_in_agent() {
    let config = parse("").unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(config.default_agent(), "mock");
}

#[test]
fn the_built_in_agent_can_be_replaced() {
    let config = parse("[agents.mock]\nprotocol = \"acp\"\ncommand = [\"x\"]\n").unwrap();
    assert_eq!(config.agents["mock"].command, ["x"]);
}

#[test]
fn an_unknown_key_is_refused_with_the_known_ones() {
    refused(
        "default_agnet = \"mock\"\n",
        "1:1",
        "`default_agnet`; did you mean `default_agent`? (known here: ",
    );
    refused(
        "[agents.a]\nprotocol = \"acp\"\ncomand = [\"x\"]\n",
        "3:1",
        "did you mean `command`? (known here: protocol, command,",
    );
    refused("[retention]\nraw_day = 3\n", "2:1", "did you mean `raw_days`?");
    refused("[limits]\nzoom = 3\n", "2:1", "unknown key `zoom` (known here: max_line_bytes");
}

#[test]
fn an_unknown_protocol_is_refused_with_the_known_ones() {
    refused(
        "[agents.a]\nprotocol = \"http\"\ncommand = [\"x\"]\n",
        "2:12",
        "known: acp, amp, claude, codex, opencode",
    );
}

#[test]
fn a_syntax_error_names_its_place() {
    refused("\ndefault_agent = \n", "2:17", "");
}

#[test]
fn a_missing_command_names_its_table() {
    refused("[agents.a]\nprotocol = \"acp\"\n", "1:1", "the key `command` is missing; add it: command = [");
}

#[test]
fn an_empty_command_is_refused_with_the_fix() {
    refused("[agents.a]\nprotocol = \"acp\"\ncommand = []\n", "3:11", "write command = [");
    refused("[agents.a]\nprotocol = \"acp\"\ncommand = [\"\"]\n", "3:11", "write command = [");
}

#[test]
fn a_bad_agent_name_is_refused_with_the_rule() {
    refused("[agents.\"My Agent\"]\nprotocol = \"acp\"\ncommand = [\"x\"]\n", "1:9", "lower-case letters");
    refused("[agents._x]\nprotocol = \"acp\"\ncommand = [\"x\"]\n", "1:9", "beginning with");
}

#[test]
fn a_default_agent_must_exist() {
    refused("default_agent = \"duck\"\n", "1:17", "add [agents.duck] or use one of: mock");
}

#[test]
fn a_value_of_the_wrong_kind_is_told_as_it_is_written() {
    let agent = "[agents.a]\nprotocol = \"acp\"\n";
    let list = r#"expected a list, such as ["program", "argument"]"#;
    refused(&format!("{agent}command = \"a b\"\n"), "3:11", list);
    refused("[limits]\nlive_agents = -1\n", "2:15", "expected a whole number from 0");
    refused("default_agent = 3\n", "1:17", "expected a text in quotes");
    refused("sandbox = \"yes\"\n", "1:11", "expected true or false");
    refused("limits = 3\n", "1:10", "expected a table of keys");
}

#[test]
fn a_key_that_is_there_twice_is_named() {
    refused("sandbox = true\nsandbox = false\n", "2:1", "the key `sandbox` is there twice");
}

#[test]
fn a_limit_of_zero_is_refused() {
    refused("[limits]\nhandshake_seconds = 0\n", "2:21", "expected more than 0");
    refused("[limits]\nmax_item_bytes = \"1 GiB\"\n", "2:18", "expected at most \"128 MiB\"");
    refused("[limits]\nmax_line_bytes = 0\n", "2:18", "expected a number of bytes over 0");
}

#[test]
fn a_file_that_is_not_utf8_is_refused_at_the_byte() {
    let error =
        Config::parse_bytes(Path::new("c"), b"# a\nx = \"\xff\"".to_vec(), &Registry::default()).unwrap_err();
    assert!(error.to_string().starts_with("c:2:6: not UTF-8"), "{error}");
}

#[test]
fn a_missing_file_is_an_error_only_when_it_was_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(FILE_NAME);
    assert!(matches!(Config::load(&path, &Registry::default()), Err(ConfigError::Missing { .. })));
    assert_eq!(Config::load_optional(&path, &Registry::default()).unwrap(), Config::default());
}

#[test]
fn no_value_is_in_an_error() {
    let agent = "[agents.a]\nprotocol = \"acp\"\ncommand = [\"x\"]\n";
    refused(
        &format!("{agent}env = \"hush, expected hush\"\n"),
        "4:7",
        "4:7: expected a table, such as { NAME = \"value\" }",
    );
    for wrong in [
        "env = \"hush\"",
        "env = [\"hush\"]",
        "env = { KEY = [\"hush\"] }",
        "env = { KEY = hush }",
        "env = { KEY = \"hush }",
        "env = { KEY = 'hush\\",
        "env = { KEY = \"hush\\q\" }",
        "env = { KEY = \"hush\\u0000\" }",
        "env = { KEY = \"a\", KEY = \"hush\" }",
        "env = { KEY = 11hush }",
        "env.KEY = \"hush\"\nenv.KEY.x = \"hush\"",
        "[limits]\nmax_line_bytes = \"hush\"",
        "[retention]\nraw_days = \"hush\"",
        "[agents.b]\nquirks = \"hush\"\ncommand = [\"x\"]",
        "[agents.b]\nprotocol = \"hush\"\ncommand = [\"x\"]",
        "[agents.b]\nprotocol = \"acp\"\ncommand = \"hush\"",
        "[agents.b]\nprotocol = \"acp\"\ncommand = [\"x\", \"hush\\u0000\"]",
    ] {
        let message = parse(&format!("{agent}{wrong}\n")).unwrap_err();
        assert!(!message.contains("hush"), "{wrong}: {message}");
    }
    let number = parse(&format!("{agent}env = {{ KEY = 12345678 }}\n")).unwrap_err();
    assert!(!number.contains("12345678"), "{number}");
}

#[test]
fn debug_output_hides_the_environment() {
    let config =
        parse("[agents.a]\nprotocol = \"acp\"\ncommand = [\"x\"]\nenv = { KEY = \"hush\" }\n").unwrap();
    assert!(!format!("{config:?}").contains("hush"));
}

#[test]
fn three_lines_make_an_agent() {
    let config =
        parse("[agents.mine]\ncommand = [\"my-agent\", \"--acp\"]\nenv = { KEY = \"v\" }\n").unwrap();
    assert_eq!(config.agents["mine"].protocol, "acp");
    assert_eq!(config.agents["mine"].command, ["my-agent", "--acp"]);
}

#[test]
fn a_registered_agent_can_be_the_default_without_a_table() {
    assert_eq!(parse("default_agent = \"gemini\"\n").unwrap().default_agent(), "gemini");
}

#[test]
fn what_a_daemon_keeps_is_said_in_days_and_bytes() {
    let config =
        parse("[retention]\nraw_days = 0.5\nraw_bytes = \"2 GiB\"\nended_days = 90\nended_bytes = 77\n");
    let day = Duration::from_secs(86_400);
    let retention = Retention {
        raw_age: Some(day / 2),
        raw_bytes: Some(2 << 30),
        ended_age: Some(day * 90),
        ended_bytes: Some(77),
        every_seconds: 600,
    };
    assert_eq!(config.unwrap().retention, retention);
    assert_eq!(parse("").unwrap().retention, Retention::default());
}

#[test]
fn a_bad_age_or_size_is_refused_with_the_fix() {
    refused("[retention]\nraw_days = 0\n", "2:12", "expected a number of days over 0, such as 30 or 0.5");
    refused("[retention]\nended_days = -1.5\n", "2:14", "a number of days over 0");
    refused("[retention]\nended_days = \"30d\"\n", "2:14", "a number of days over 0");
    refused("[retention]\nraw_bytes = \"2 cats\"\n", "2:13", "such as \"500 MB\" or \"2 GiB\"");
    refused("[retention]\nended_bytes = 0\n", "2:15", "a number of bytes over 0");
    refused("[retention]\nevery_seconds = 0\n", "2:17", "expected more than 0");
}

#[test]
fn an_address_to_listen_on_has_a_port() {
    let listen = |text: &str| {
        parse(&format!("listen = \"{text}\"\n")).map(|config| config.listen.unwrap().to_string())
    };
    assert_eq!(listen("localhost:80").unwrap(), "127.0.0.1:80");
    assert_eq!(listen("[::1]:2468").unwrap(), "[::1]:2468");
    refused("listen = \"127.0.0.1\"\n", "1:10", "\"127.0.0.1:2468\"");
    refused("listen = \"example.com:80\"\n", "1:10", "an IP address and a port");
}

#[test]
fn a_certificate_needs_its_key_and_is_found_beside_the_configuration() {
    let tls = parse("[tls]\ncert = \"c.pem\"\nkey = \"/k.pem\"\n").unwrap().tls.unwrap();
    assert!(tls.cert.ends_with("c.pem") && tls.cert.parent().is_some(), "{tls:?}");
    assert_eq!(tls.key, PathBuf::from("/k.pem"));
    refused("[tls]\ncert = \"c.pem\"\n", "1:1", "the key `key` is missing; add it");
    refused("[tls]\ncert = \"\"\nkey = \"k\"\n", "2:8", "expected the path of a file");
}

#[test]
fn a_token_file_is_found_beside_the_configuration() {
    let registry = Registry::default();
    let config =
        Config::parse(Path::new("/etc/omniglot/omniglot.toml"), "token_file = \"secret\"\n", &registry)
            .unwrap();
    assert_eq!(config.token_file, Some("/etc/omniglot/secret".into()));
    let config =
        Config::parse(Path::new("/etc/o.toml"), "token_file = \"/run/secret\"\n", &registry).unwrap();
    assert_eq!(config.token_file, Some("/run/secret".into()));
    refused("token_file = \"\"\n", "1:14", "leave the key out");
}

#[test]
fn what_others_check_keeps_its_place() {
    let config = parse("\nallow_hosts = [\"box\", \"*\"]\n").unwrap();
    let refusal = config.allow_hosts[1].refuse("no wildcards").to_string();
    assert_eq!(refusal, "omniglot.toml:2:23: no wildcards");
}

#[test]
fn quirks_are_those_of_the_registry() {
    let agent = |quirks: &str| format!("[agents.a]\ncommand = [\"x\"]\nquirks = \"{quirks}\"\n");
    assert_eq!(parse(&agent("gemini")).unwrap().agents["a"].quirks.as_deref(), Some("gemini"));
    refused(&agent("gemni"), "3:10", "did you mean \"gemini\"? (known: gemini, qwen, ");
}

#[test]
fn roots_of_files_are_absolute_paths() {
    let config = parse("[files]\nroots = [\"/srv/a\", \"/srv/b\"]\n").unwrap();
    assert_eq!(config.files.roots, [PathBuf::from("/srv/a"), "/srv/b".into()]);
    assert_eq!(parse("").unwrap().files, Files::default());
    for bad in ["", "relative", "~/work", "/srv/../etc", "/srv\\u0000"] {
        refused(&format!("[files]\nroots = [\"/srv\", \"{bad}\"]\n"), "2:18", "absolute path of a directory");
    }
    refused("[files]\nroot = [\"/srv\"]\n", "2:1", "unknown key `root`");
}

fn hook(keys: &str) -> String {
    format!("[[hooks]]\nname = \"h\"\nurl = \"https://h.example/x\"\nsecret = \"a-secret-of-16-b\"\n{keys}")
}

#[test]
fn a_hook_is_called_for_four_kinds_of_events_unless_it_says_otherwise() {
    let config = parse(&hook("")).unwrap();
    let [hook_read] = &config.hooks[..] else { panic!("{config:?}") };
    assert_eq!(hook_read.events.len(), 4);
    assert!(!hook_read.details && !hook_read.allow_private && !hook_read.answer_links);
    let config =
        parse(&hook("events = [\"needs_you\", \"item.completed\"]\nlabels = { team = \"a\" }\n")).unwrap();
    let types = [HookEvents::NeedsYou, HookEvents::Type(omniglot_schema::UniversalEventType::ItemCompleted)];
    assert_eq!(config.hooks[0].events, types);
    assert_eq!(config.hooks[0].labels[0].to_string(), "team=a");
    let shown = format!("{config:?}");
    assert!(!shown.contains("a-secret") && !shown.contains("h.example"), "{shown}");
}

#[test]
fn a_hook_that_cannot_work_is_refused_at_its_place() {
    refused(&hook("events = [\"turn_endet\"]\n"), "5:11", "did you mean");
    refused(&hook("events = [\"item.delta\"]\n"), "5:11", "use item.completed");
    refused(&hook("include = \"all\"\n"), "5:11", "include = \"details\"");
    refused(&hook("labels = { Team = \"a\" }\n"), "5:12", "label key");
    refused(&hook("secret_env = \"OMNIGLOT_X\"\n"), "5:14", "give one of secret");
    refused(&hook("answer_links = true\n"), "5:16", "public_url");
    refused(&hook("format = \"slack\"\n"), "5:10", "expected");
    refused(&format!("{}{}", hook(""), hook("")), "6:8", "two hooks with the name `h`");
    let url = |url: &str| hook("").replace("https://h.example/x", url);
    refused(&url("http://h.example/x"), "3:7", "allow_http = true");
    refused(&url("ftp://h.example/x"), "3:7", "expected https");
    refused(&url("h.example"), "3:7", "such as \"https://");
    refused(&url("https://h.example/x#y"), "3:7", "`#`");
    refused(&(url("https://h.example/") + "format = \"ntfy\"\n"), "3:7", "a topic");
    refused(&hook("").replace("name = \"h\"", "name = \"a b\""), "2:8", "A-Z a-z 0-9");
    refused("[[hooks]]\nname = \"h\"\nurl = \"https://h.example\"\n", "2:8", "a secret is missing");
    let variable = "[[hooks]]\nname = \"h\"\nurl = \"https://h.example\"\nsecret_env = \"KEY\"\n";
    refused(variable, "4:14", "begins with OMNIGLOT_");
    refused("public_url = \"box.example.com\"\n", "1:14", "such as \"https://box.example.com\"");
    let config = parse("public_url = \"https://box.example.com/omni/\"\n").unwrap();
    assert_eq!(config.public_url.as_deref(), Some("https://box.example.com/omni"));
}
