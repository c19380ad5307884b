//! Two installers at once, clients that hang up, daemons that die: an installation is whole or not there.

use super::*;

#[tokio::test]
async fn one_of_two_installers_waits_for_the_other() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    npm.close_gate();
    let request = version("1.0.0");
    let (first, second, ()) = tokio::join!(install(&daemon, &request), install(&daemon, &request), async {
        drop(npm.under_way().await);
    });
    let already = [first, second].map(|installed| installed.unwrap().already_installed);
    assert!(already == [true, false] || already == [false, true], "{already:?}");
    assert_eq!(npm.calls().len(), 1, "{:?}", npm.calls());
}

#[tokio::test]
async fn an_installation_goes_on_when_its_client_hangs_up() {
    let npm = FakeNpm::default();
    let daemon = daemon(&npm);
    npm.close_gate();
    let request = version("1.0.0");
    let under_way = tokio::select! {
        installed = install(&daemon, &request) => panic!("{installed:?}"),
        gate = npm.under_way() => gate,
    };
    assert!(claude(&daemon).await.installed_versions.is_empty());
    drop(under_way);
    assert!(install(&daemon, &request).await.unwrap().already_installed);
    assert_eq!(folders(&daemon), ["1.0.0"]);
}

#[tokio::test]
async fn nothing_is_left_of_an_installation_when_the_daemon_stops_or_dies() {
    let npm = FakeNpm::default();
    let mut daemon = daemon(&npm);
    for kill in [true, false] {
        npm.close_gate();
        let request = version("1.0.0");
        let under_way = tokio::select! {
            installed = install(&daemon, &request) => panic!("{installed:?}"),
            gate = npm.under_way() => gate,
        };
        if kill {
            daemon.kill()
        } else {
            daemon.stop()
        }
        daemon = daemon.restart();
        drop(under_way);
        assert!(folders(&daemon).is_empty(), "{:?}", folders(&daemon));
    }
    install(&daemon, &version("1.0.0")).await.unwrap();
    assert_eq!(says(&daemon, "s", None).await, "I am 1.0.0.");
}
