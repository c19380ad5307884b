//! Skills of a session: fetched, checked, given to its agent, and removed with it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use omniglot_client::Client;
use omniglot_schema::{CreateSessionRequest, CreateTokenRequest, PermissionReply, Scope, SkillSource};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id, status_of};
use omniglot_testkit::skills::{SkillFolder, from, source};
use omniglot_testkit::tls::TlsFiles;

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn request(sources: impl IntoIterator<Item = SkillSource>) -> CreateSessionRequest {
    CreateSessionRequest { skills: from(sources), ..CreateSessionRequest::new("mock") }
}

async fn told(session: &SessionDriver) -> String {
    session.turn("[[skills]]", PermissionReply::Once).await.text()
}

fn kept(daemon: &Daemon) -> usize {
    std::fs::read_dir(daemon.data().join("shared/skills")).map_or(0, Iterator::count)
}

fn links(daemon: &Daemon) -> PathBuf {
    daemon.work().join(".mock/skills")
}

#[tokio::test]
async fn skills_of_a_repository_reach_the_agent_also_after_a_restart_and_go_with_the_session() {
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    folder.add("two", "The second.");
    folder.commit();
    folder.git(&["tag", "old"]);
    folder.add("one", "The first, changed.");
    folder.commit();
    let mut daemon = daemon();
    let newest = SessionDriver::create_with(&daemon.client, "newest", &request([folder.as_git()])).await;
    assert_eq!(told(&newest).await, "My skills: one = The first, changed.; two = The second..");
    let shown = daemon.client.detail(&newest.id).await.unwrap().info.skills.unwrap();
    assert_eq!(shown.sources, [folder.as_git()]);
    daemon.stop();
    let daemon = daemon.restart();
    let newest = SessionDriver::of(&daemon.client, "newest");
    assert_eq!(told(&newest).await, "My skills: one = The first, changed.; two = The second..");
    daemon.client.delete(&newest.id).await.unwrap();
    assert!(kept(&daemon) == 0 && !links(&daemon).parent().unwrap().exists());
    let chosen = SkillSource {
        r#ref: Some("old".into()),
        subpath: Some("skills".into()),
        skills: Some(vec!["one".into()]),
        ..folder.as_git()
    };
    let old = SessionDriver::create_with(&daemon.client, "old", &request([chosen])).await;
    assert_eq!(told(&old).await, "My skills: one = The first..");
}

#[tokio::test]
async fn sessions_of_a_directory_share_a_skill_until_the_last_is_gone() {
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    let daemon = daemon();
    let first = SessionDriver::create_with(&daemon.client, "first", &request([folder.as_local()])).await;
    let second = SessionDriver::create_with(&daemon.client, "second", &request([folder.as_local()])).await;
    folder.add("one", "Another of this name.");
    let refused =
        daemon.client.create(&session_id("third"), &request([folder.as_local()])).await.unwrap_err();
    assert!(refused.to_string().contains("exists already"), "{refused}");
    assert_eq!(kept(&daemon), 2);
    daemon.client.delete(&first.id).await.unwrap();
    assert_eq!(told(&second).await, "My skills: one = The first..");
    daemon.client.fork(&second.id, &session_id("fork")).await.unwrap();
    daemon.client.delete(&second.id).await.unwrap();
    assert_eq!(told(&SessionDriver::of(&daemon.client, "fork")).await, "My skills: one = The first..");
    daemon.client.delete(&session_id("fork")).await.unwrap();
    assert!(kept(&daemon) == 0 && !links(&daemon).parent().unwrap().exists());
}

#[tokio::test]
async fn a_source_that_cannot_be_used_is_refused_by_name_and_nothing_is_left() {
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    let mut cases = vec![
        (source("local", "/no/such/folder"), "No such file"),
        (source("git", "/no/such/repository"), "git says"),
        (source("git", "http://127.0.0.1/x"), "https://, ssh://"),
        (folder.as_git(), "git says"),
        (SkillSource { subpath: Some("../x".into()), ..folder.as_local() }, "leads out"),
        (SkillSource { subpath: Some("none".into()), ..folder.as_local() }, "`subpath` is no folder"),
        (SkillSource { skills: Some(vec!["six".into()]), ..folder.as_local() }, "there are one"),
    ];
    let committed = SkillFolder::default();
    committed.add("one", "The first.");
    committed.commit();
    cases.push((SkillSource { r#ref: Some("nowhere".into()), ..committed.as_git() }, "nowhere"));
    let empty = SkillFolder::default();
    cases.push((empty.as_local(), "no skill"));
    let undescribed = SkillFolder::default();
    std::fs::write(undescribed.add("bad", "x").join("SKILL.md"), "# Bad\n").unwrap();
    cases.push((undescribed.as_local(), "a name and a description"));
    let leaving = SkillFolder::default();
    symlink("/etc/hostname", leaving.add("leaving", "It leaves.").join("host")).unwrap();
    leaving.commit();
    cases.push((leaving.as_git(), "leads out"));
    let above = SkillFolder::default();
    above.add("one", "x");
    symlink("/etc", above.path().join("out")).unwrap();
    cases.push((SkillSource { subpath: Some("out".into()), ..above.as_local() }, "leads out"));
    let large = SkillFolder::default();
    let file = std::fs::File::create(large.add("large", "x").join("zeros")).unwrap();
    file.set_len(101 * 1024 * 1024).unwrap();
    large.commit();
    cases.push((large.as_git(), ": it is larger than 100 MiB"));
    cases.push((large.as_local(), ": the skills are larger than 100 MiB"));
    let daemon = daemon();
    for (source, why) in cases {
        // A good one before it is not kept either.
        let sources = [committed.as_git(), source];
        let refused = daemon.client.create(&session_id("s"), &request(sources)).await.unwrap_err();
        assert_eq!(refused.status(), Some(400), "{refused}");
        assert!(refused.to_string().contains(why), "{why}: {refused}");
        assert!(kept(&daemon) == 0 && !links(&daemon).exists(), "{refused}");
    }
    assert!(daemon.client.list(&Default::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn nothing_of_the_project_is_written_over() {
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    folder.add("two", "The second.");
    let daemon = daemon();
    let own = links(&daemon).join("two");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("SKILL.md"), "mine").unwrap();
    let create = || async {
        let refused = daemon.client.create(&session_id("s"), &request([folder.as_local()])).await;
        refused.unwrap_err().to_string()
    };
    assert!(create().await.contains("exists already"));
    assert_eq!(std::fs::read_to_string(own.join("SKILL.md")).unwrap(), "mine");
    assert!(kept(&daemon) == 0 && !links(&daemon).join("one").exists());
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(daemon.work().join(".mock")).unwrap();
    symlink(elsewhere.path(), daemon.work().join(".mock")).unwrap();
    assert!(create().await.contains("is not a folder"));
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn links_inside_the_source_are_followed() {
    let folder = SkillFolder::default();
    let one = folder.add("one", "The first.");
    std::fs::write(folder.path().join("common.md"), "for all").unwrap();
    symlink("../../common.md", one.join("common.md")).unwrap();
    folder.commit();
    let daemon = daemon();
    SessionDriver::create_with(&daemon.client, "s", &request([folder.as_git()])).await;
    let copied = links(&daemon).join("one/common.md");
    assert_eq!(std::fs::read_to_string(&copied).unwrap(), "for all");
    assert!(!std::fs::symlink_metadata(&copied).unwrap().is_symlink());
}

#[tokio::test]
async fn a_start_removes_the_skills_of_sessions_that_never_were() {
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    let mut daemon = daemon();
    let session = SessionDriver::create_with(&daemon.client, "s", &request([folder.as_local()])).await;
    let skills = daemon.data().join("shared/skills");
    let own = std::fs::read_dir(&skills).unwrap().next().unwrap().unwrap().path();
    daemon.stop();
    // As if a daemon had been killed between the skills and the row of the session.
    let other = skills.join("0123456789abcdef0123456789abcdef");
    std::fs::rename(&own, &other).unwrap();
    let link = links(&daemon).join("one");
    std::fs::remove_file(&link).unwrap();
    symlink(other.join("skills/one"), &link).unwrap();
    let daemon = daemon.restart();
    assert!(kept(&daemon) == 0 && std::fs::symlink_metadata(&link).is_err());
    let session = SessionDriver::of(&daemon.client, session.id.as_str());
    assert_eq!(told(&session).await, "My skills: .");
}

#[tokio::test]
async fn an_agent_of_which_nobody_knows_where_it_reads_skills_gets_none() {
    let config = "[agents.other]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", \"cat\"]\n";
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    let request = CreateSessionRequest { agent: "other".into(), ..request([folder.as_local()]) };
    let refused = daemon.client.create(&session_id("s"), &request).await.unwrap_err();
    assert_eq!(refused.status(), Some(400));
    assert!(refused.to_string().contains("agent other"), "{refused}");
}

#[tokio::test]
async fn folders_of_the_machine_are_for_an_admin_or_below_a_configured_root() {
    let (folder, other) = (SkillFolder::default(), SkillFolder::default());
    for folder in [&folder, &other] {
        folder.add("one", "The first.");
        folder.commit();
    }
    symlink(other.path(), folder.path().join("link")).unwrap();
    let config = format!("[files]\nroots = [{:?}]\n", folder.path());
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let driver = CreateTokenRequest {
        name: "driver".into(),
        scope: Scope::Drive,
        sessions: None,
        expires_in_seconds: None,
    };
    let secret = daemon.client.create_token(&driver).await.unwrap().secret;
    let client = Client::new(&daemon.url, Some(secret)).unwrap();
    for (name, allowed) in [("local", folder.as_local()), ("git", folder.as_git())] {
        SessionDriver::create_with(&client, name, &request([allowed])).await;
    }
    let linked = source("local", folder.path().join("link").to_str().unwrap());
    let encoded = source("git", &format!("file://{}/%2e%2e", folder.path().display()));
    for refused in [other.as_local(), other.as_git(), linked, encoded] {
        let refusal = client.create(&session_id("x"), &request([refused])).await;
        assert_eq!(status_of(refusal), 403);
    }
}

#[tokio::test]
async fn a_repository_brings_no_submodules_and_no_hooks_run() {
    let inner = SkillFolder::default();
    std::fs::copy(inner.add("inner", "Of the submodule.").join("SKILL.md"), inner.path().join("SKILL.md"))
        .unwrap();
    inner.commit();
    let folder = SkillFolder::default();
    folder.add("one", "The first.");
    folder.commit();
    let module = format!("file://{}", inner.path().display());
    let add = ["submodule", "--quiet", "add", &module, "skills/inner"];
    folder.git(&[&["-c", "protocol.file.allow=always"][..], &add].concat());
    folder.commit();
    assert!(folder.path().join("skills/inner/SKILL.md").exists());
    let daemon = daemon();
    let (home, marker) = (daemon.home(), daemon.home().join("a-hook-ran"));
    let own_hooks = home.join("template/hooks");
    std::fs::create_dir_all(&own_hooks).unwrap();
    for hooks in [own_hooks.as_path(), &folder.path().join(".git/hooks")] {
        for name in ["post-checkout", "post-index-change", "reference-transaction"] {
            let hook = hooks.join(name);
            std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let config = format!(
        "[init]\ntemplateDir = {0}\n[core]\nhooksPath = {0}/hooks\n[submodule]\nrecurse = true\n",
        home.join("template").display()
    );
    std::fs::write(home.join(".gitconfig"), config).unwrap();
    let session = SessionDriver::create_with(&daemon.client, "s", &request([folder.as_git()])).await;
    assert_eq!(told(&session).await, "My skills: one = The first..");
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    // Connections are accepted by the kernel, and nobody answers them.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/skills", server.local_addr().unwrap());
    let limits = "[limits]\nskills_seconds = 1\n";
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(limits).start();
    let refused = daemon.client.create(&session_id("s"), &request([source("git", &url)])).await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    let why = "not there within 1 s; `skills_seconds` under [limits]";
    assert!(refused.to_string().contains(why), "{refused}");
    assert_eq!(kept(&daemon), 0);
}

/// A daemon that speaks TLS wants a token for every path, as a private repository wants a password.
#[tokio::test]
async fn a_server_that_wants_a_password_gets_none_of_the_users() {
    let files = TlsFiles::default();
    let server = Setup::new(env!("CARGO_BIN_EXE_omniglot")).tls(&files).start();
    let ca = files.path("ca.pem").to_string_lossy().into_owned();
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).env("GIT_SSL_CAINFO", ca).start();
    let asked = daemon.home().join("a-helper-was-asked");
    let helper = format!("[credential]\nhelper = \"!touch {}; echo password=x #\"\n", asked.display());
    std::fs::write(daemon.home().join(".gitconfig"), helper).unwrap();
    let private = source("git", &format!("{}/private.git", server.url));
    let refused = daemon.client.create(&session_id("s"), &request([private])).await.unwrap_err();
    assert!(refused.to_string().contains("terminal prompts disabled"), "{refused}");
    assert!(!asked.exists());
}

#[tokio::test]
async fn ssh_reads_no_configuration_and_knows_the_users_key_agent() {
    let programs = tempfile::tempdir().unwrap();
    let (ssh, said) = (programs.path().join("ssh"), programs.path().join("said"));
    let script =
        format!("#!/bin/sh\necho \"$@\" \"$SSH_AUTH_SOCK\" \"$GIT_TRACE\" > {}\nexit 1\n", said.display());
    std::fs::write(&ssh, script).unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let setup = Setup::new(env!("CARGO_BIN_EXE_omniglot")).env("PATH", path);
    let daemon = setup.env("SSH_AUTH_SOCK", "/the/agent").env("GIT_TRACE", "/the/trace").start();
    let private = source("git", "ssh://box.example/skills");
    daemon.client.create(&session_id("s"), &request([private])).await.unwrap_err();
    let said = std::fs::read_to_string(said).unwrap();
    let expected = "-F none -o BatchMode=yes";
    assert!(said.starts_with(expected) && said.contains("box.example"), "{said}");
    assert!(said.contains("/the/agent") && !said.contains("/the/trace"), "{said}");
}

#[tokio::test]
async fn nothing_of_git_is_copied() {
    let folder = SkillFolder::default();
    let inner = folder.add("one", "The first.").join("tool/.git");
    folder.commit();
    let daemon = daemon();
    SessionDriver::create_with(&daemon.client, "fetched", &request([folder.as_git()])).await;
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("config"), "[core]\nfsmonitor = evil\n").unwrap();
    SessionDriver::create_with(&daemon.client, "local", &request([folder.as_local()])).await;
    let mut folders = vec![daemon.data().join("shared/skills")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            assert_ne!(entry.file_name(), ".git", "{:?}", entry.path());
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => files += 1,
            }
        }
    }
    assert!(files >= 2, "{files}");
}
