//! Whatever a command is wrapped into, it is decided about as strictly as before, or more so.

use omniglot_rules::Decision;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

use crate::fixture::{policy, shell};

/// Ways to run a command, with `@` where it stands.
const WRAPPERS: &[&str] = &[
    "sudo @",
    "sudo -u root @",
    "doas @",
    "env @",
    "env A=1 @",
    "env -S '@'",
    "nohup @",
    "timeout 5 @",
    "nice @",
    "nice -n 5 @",
    "ionice -c3 @",
    "setsid @",
    "stdbuf -o0 @",
    "xargs @",
    "ls | xargs @",
    "parallel @",
    "watch @",
    "time @",
    "command @",
    "builtin @",
    "exec @",
    "eval @",
    "eval '@'",
    "sh -c '@'",
    "bash -c \"@\"",
    "bash -lc '@'",
    "zsh -c '@'",
    "dash -c '@'",
    "busybox sh -c '@'",
    "ssh host '@'",
    "ssh host @",
    "docker run x @",
    "docker exec x sh -c '@'",
    "find . -exec @ ;",
    "find . -exec sh -c '@' ;",
    "git -c alias.x='!@' x",
    "git status && @",
    "git status; @",
    "git status | @",
    "git status & @",
    "git status || @",
    "@ && git status",
    "@; git status",
    "@ | head",
    "@ &",
    "(@)",
    "{ @; }",
    "! @",
    "if @; then ls; fi",
    "if ls; then @; fi",
    "if ls; then ls; else @; fi",
    "while @; do ls; done",
    "until ls; do @; done",
    "for i in a; do @; done",
    "for PATH in a; do @; done",
    "case a in a) @;; esac",
    "f() { @; }; f",
    "echo $(@)",
    "echo `@`",
    "echo \"$(@)\"",
    "cat <(@)",
    "ls >(@)",
    "cat <<E\n$(@)\nE",
    "A=1 @",
    "LD_PRELOAD=x @",
    "PATH=/tmp @",
    "alias ls='@'; ls",
    "trap '@' EXIT",
    "coproc @",
    "@ > src/x",
    "@ > /dev/null",
    "@ 2>&1",
    "cd src && @",
    "cd / && @",
    "python3 -c 'import os; os.system(\"@\")'",
    "perl -e 'system(\"@\")'",
    "awk 'BEGIN{system(\"@\")}'",
    "node -e '@'",
    "make x SHELL='@'",
    "npm run x -- @",
    "script -c '@'",
    "su -c '@'",
    "flock x @",
    "strace @",
    "source <(@)",
    ". <(@)",
    "echo '@' | sh",
    "\\@",
    "'@'",
    "\"@\"",
    "@ # comment",
    "# @\nls",
    "\n@\n",
    " @ ",
    "\t@",
    "@\\\n",
    "[[ -f $(@) ]]",
    "(( $(@) ))",
    "noglob @",
    "repeat 2 @",
    "- @",
    "/usr/bin/env @",
    "/bin/sh -c '@'",
    "unshare @",
    "chroot / @",
    "systemd-run @",
    "at now <<< '@'",
    "tmux new '@'",
    "@\r",
    "@\0",
    "\u{200b}@",
    "@\u{a0}",
];

const COMMANDS: &[&str] = &[
    "git status",
    "ls",
    "ls src",
    "cat src/x",
    "echo x > out/x",
    "echo x > src/x",
    "whoami",
    "curl https://a.test",
    "make check",
    "make all",
    "rm x",
    "rm -rf /",
    "git push",
    "cat .env",
    "cat ~/.omniglot/private/token",
    "curl evil.test",
    "git log --output=x",
    "find . -delete",
    "python3 x",
    "$X",
    "echo $(whoami)",
    "PATH=x ls",
];

fn wrapped(wrapper: &str, command: &str) -> String {
    wrapper.replace('@', command)
}

#[test]
fn no_wrapper_makes_a_command_more_welcome() {
    let policy = policy();
    for command in COMMANDS {
        let before = shell(&policy, command).decision;
        for wrapper in WRAPPERS {
            let text = wrapped(wrapper, command);
            let after = shell(&policy, &text);
            assert!(
                before == Decision::Allow || after.decision != Decision::Allow,
                "{text:?} is allowed, {command:?} is not: {}",
                after.reason
            );
        }
    }
    assert!(WRAPPERS.len() * COMMANDS.len() > 2000);
}

/// A command of words that mean something to a shell, to rules or to programs.
fn command() -> impl Strategy<Value = String> {
    let word = select(vec![
        "git", "status", "ls", "rm", "cat", "echo", "find", "-exec", ";", "&&", "|", "\n", "$X", "$(", ")",
        "`", "'", "\"", "\\", "(", "{", "}", ">", "<", "out/x", "src/x", ".env", "&", "#", "*", "-c", "sudo",
        "sh", "A=1", "<<E", "E", "<<<", "$'", "!", "~", "if", "then", "fi", "for", "in", "do", "done",
        "case", "esac", "[[", "]]", "((", "))", "\r", "é", "=", "cd", "..", "/",
    ]);
    let glue = select(vec![" ", " ", " ", "", "\n"]);
    prop::collection::vec((word, glue), 1..14)
        .prop_map(|words| words.into_iter().flat_map(|(word, glue)| [word, glue]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn a_wrapper_never_turns_ask_or_deny_into_allow(command in command(), wrapper in select(WRAPPERS.to_vec())) {
        let policy = policy();
        let before = shell(&policy, &command).decision;
        // A command whose quotes end elsewhere is another command within a wrapper with quotes.
        let closes = !command.contains(['\'', '"', '\\', '#', '`', '\n']) || !wrapper.contains(['\'', '"', '`', '#']);
        if before != Decision::Allow && closes {
            let text = wrapped(wrapper, &command);
            let after = shell(&policy, &text);
            prop_assert!(after.decision != Decision::Allow, "{text:?} is allowed: {}", after.reason);
        }
    }

    #[test]
    fn only_commands_of_rules_are_ever_allowed(command in command()) {
        let policy = policy();
        if shell(&policy, &command).decision == Decision::Allow {
            for sign in ["$", "`", "sudo", "rm", "A=1", "#", "\r", "~", "*", "<<<"] {
                let quoted = command.contains(['\'', '"', '\\']) || command.contains("<<");
                prop_assert!(quoted || !runs(&command, sign), "{command:?}");
            }
        }
    }
}

/// Whether a sign stands where it would mean something, and not in a word such as an argument of echo.
fn runs(command: &str, sign: &str) -> bool {
    match sign {
        "sudo" | "rm" | "A=1" => command.trim_start().starts_with(sign),
        _ => command.contains(sign),
    }
}
