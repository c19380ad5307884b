//! The Python SDK of `sdk/python`: a session over a network that cuts, its README and its types.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use omniglot_testkit::daemon::Setup;
use omniglot_testkit::sdk::{path, play_over_cuts, python, succeed};

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

#[test]
fn nothing_is_lost_or_doubled_over_cuts_and_restarts() {
    for seed in [3, 7] {
        play_over_cuts(OMNIGLOT, python().arg(path("python/tests/scenario.py")), seed);
    }
}

/// A newcomer's first program runs before the daemon does.
#[test]
fn without_a_daemon_it_says_so_soon_and_what_to_do() {
    let program = "
import asyncio, sys
import httpx
from omniglot_sdk import Omniglot

async def listen(client):
    async for event in client.events():
        print(event)

async def main():
    async with Omniglot(sys.argv[1]) as client:
        for work in (client.sessions.create(agent='mock'), client.sessions.create(agent='mock', id='a'), listen(client)):
            try:
                await work
            except httpx.ConnectError as error:
                print(error)

asyncio.run(main())
";
    // Nobody can listen at the port that a connection comes from.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let url = format!("http://127.0.0.1:{}", connection.local_addr().unwrap().port());
    let said = succeed(python().args(["-c", program, &url]));
    let line = format!("no daemon answers at {url}; `omniglot daemon start` starts one\n");
    assert_eq!(said, line.repeat(3));
}

#[test]
fn the_types_are_those_of_the_description() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = folder.path().join("types.py");
    let switches = fs::read_to_string(path("python/generate.txt")).unwrap();
    succeed(
        python()
            .args(["-m", "datamodel_code_generator", "--input"])
            .arg(path("../docs/openapi.json"))
            .args(switches.split_whitespace())
            .arg("--output")
            .arg(&fresh)
            .current_dir(folder.path()),
    );
    let same = fs::read(fresh).unwrap() == fs::read(path("python/omniglot_sdk/types.py")).unwrap();
    assert!(same, "sdk/python/omniglot_sdk/types.py is stale; `cargo xtask sdk` writes it anew");
}

#[test]
fn the_example_of_the_readme_runs_as_written() {
    let readme = fs::read_to_string(path("python/README.md")).unwrap();
    let example = readme.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("example.py"), example).unwrap();
    let daemon = Setup::new(OMNIGLOT).start();
    let said = succeed(
        python()
            .arg(Path::new("example.py"))
            .current_dir(folder.path())
            .env("OMNIGLOT_URL", &daemon.url)
            .env("OMNIGLOT_TOKEN", &daemon.token),
    );
    assert!(said.contains("allowed: ") && said.ends_with("end_turn\n"), "{said}");
}
