//! The TypeScript SDK of `sdk/typescript`: sessions over a network that cuts, in Node and in Chromium; its README,
//! its types and its size.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use omniglot_testkit::clients::{browser, library, node, oldest_node};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::sdk::{self, play_over_cuts, succeed};
use serde_json::Value;

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

#[test]
fn nothing_is_lost_or_doubled_over_cuts_and_restarts_in_node() {
    let built = sdk::typescript();
    for seed in [3, 7] {
        let entry = built.path().join("index.js");
        play_over_cuts(
            OMNIGLOT,
            &mut node(&sdk::path("typescript/test/node.mjs"), &[entry.to_str().unwrap()]),
            seed,
        );
    }
}

#[test]
fn nothing_is_lost_or_doubled_over_cuts_and_restarts_in_the_oldest_node() {
    let built = sdk::typescript();
    let entry = built.path().join("index.js");
    let words = [entry.to_str().unwrap()];
    play_over_cuts(OMNIGLOT, &mut oldest_node(&sdk::path("typescript/test/node.mjs"), &words), 5);
}

#[test]
fn nothing_is_lost_or_doubled_over_cuts_and_restarts_in_chromium() {
    let built = sdk::typescript();
    let playwright = library("playwright", "node_modules/playwright-core/index.mjs");
    let words = [built.path().to_str().unwrap(), &playwright, &browser()];
    let home = tempfile::tempdir().unwrap();
    play_over_cuts(
        OMNIGLOT,
        node(&sdk::path("typescript/test/browser.mjs"), &words).env("HOME", home.path()),
        11,
    );
}

/// A newcomer's first program runs before the daemon does.
#[test]
fn without_a_daemon_it_says_so_soon_and_what_to_do() {
    let built = sdk::typescript();
    let entry = built.path().join("index.js");
    let program = "const { Omniglot } = await import(process.argv[1]);
        const client = new Omniglot({ url: process.argv[2] });
        const told = (work) => work.then(() => console.log('done'), (error) => console.log(error.message));
        await told(client.sessions.create({ agent: 'mock' }));
        await told(client.sessions.open('a').compact());
        await told((async () => { for await (const event of client.events()) console.log(event); })());";
    // Nobody can listen at the port that a connection comes from.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let port = connection.local_addr().unwrap().port();
    for run in [node, oldest_node] {
        let url = format!("http://localhost:{port}");
        let words = ["-e", program, entry.to_str().unwrap(), &url];
        let said = succeed(&mut run(Path::new("--input-type=module"), &words));
        let line = format!("no daemon answers at {url}; `omniglot daemon start` starts one\n");
        assert_eq!(said, line.repeat(3));
    }
}

#[test]
fn the_types_are_those_of_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let generator = library("openapi-typescript", "node_modules/openapi-typescript/bin/cli.js");
    let document = sdk::path("../docs/openapi.json");
    let fresh = folder.path().join("generated.ts");
    let words = [document.to_str().unwrap(), "-o", fresh.to_str().unwrap()];
    succeed(node(Path::new(&generator), &words).env("HOME", folder.path()));
    let same = fs::read(fresh).unwrap() == fs::read(sdk::path("typescript/src/generated.ts")).unwrap();
    assert!(same, "sdk/typescript/src/generated.ts is stale; `cargo xtask sdk` writes it anew");
}

#[test]
fn it_is_small_and_depends_on_nothing() {
    let package = fs::read(sdk::path("typescript/package.json")).unwrap();
    let package: Value = serde_json::from_slice(&package).unwrap();
    assert!(package.get("dependencies").is_none() && package.get("peerDependencies").is_none());
    let built = sdk::typescript();
    let files = fs::read_dir(built.path()).unwrap().map(|entry| entry.unwrap().path());
    let scripts = files.filter(|path| path.extension().is_some_and(|extension| extension == "js"));
    let count = "const z = await import('node:zlib'); const fs = await import('node:fs');
        const all = process.argv.slice(1).map((file) => fs.readFileSync(file)); console.log(z.gzipSync(Buffer.concat(all)).length)";
    let size = succeed(node(Path::new("--input-type=module"), &["-e", count]).args(scripts));
    let size: usize = size.trim().parse().unwrap();
    assert!(size > 1_000 && size <= 12_000, "{size} bytes");
}

/// Runs the example of each README as it is written, against a daemon at the environment's address.
#[test]
fn the_examples_of_both_readmes_run_as_written() {
    let project = tempfile::tempdir().unwrap();
    install(project.path());
    let daemon = Setup::new(OMNIGLOT).start();
    for readme in ["typescript/README.md", "../README.md"] {
        let text = fs::read_to_string(sdk::path(readme)).unwrap();
        let mut blocks = text.split("```ts\n").skip(1).filter_map(|block| block.split("```").next());
        let example = blocks.find(|block| block.contains("@omniglot/sdk")).unwrap();
        fs::write(project.path().join("example.ts"), format!("declare const process: any;\n{example}"))
            .unwrap();
        let compiler = library("openapi-typescript", "node_modules/typescript/bin/tsc");
        let switches =
            ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "example.ts"];
        succeed(node(Path::new(&compiler), &switches).current_dir(project.path()));
        for run in [node, oldest_node] {
            let said = succeed(
                run(Path::new("example.js"), &[])
                    .current_dir(project.path())
                    .env("HOME", project.path())
                    .env("OMNIGLOT_URL", &daemon.url)
                    .env("OMNIGLOT_TOKEN", &daemon.token),
            );
            assert!(said.contains("allowed: ") && said.ends_with("end_turn\n"), "{readme}: {said}");
        }
    }
}

/// Puts the package into a project, as npm does.
fn install(project: &Path) {
    let package = project.join("node_modules/@omniglot/sdk");
    fs::create_dir_all(package.join("dist")).unwrap();
    fs::copy(sdk::path("typescript/package.json"), package.join("package.json")).unwrap();
    let built = sdk::typescript();
    for entry in fs::read_dir(built.path()).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), package.join("dist").join(entry.file_name())).unwrap();
    }
    fs::write(project.join("package.json"), r#"{"type":"module"}"#).unwrap();
}
