//! Each rung of the ladder on which a process is ended.

use omniglot_runtime::process::Exit;

use crate::support::{shell, within};

#[tokio::test]
async fn an_interrupt_is_sigint() {
    let mut agent = shell("echo ready; exec sleep 1000").await;
    agent.line().await;
    agent.process.interrupt();
    assert_eq!(within(agent.process.wait()).await, Exit { code: None, signal: Some(2) });
}

#[tokio::test]
async fn an_interrupt_reaches_the_tool_that_the_agent_waits_for() {
    let mut agent = shell("trap 'echo interrupted' INT; sh -c 'echo ready; exec sleep 1000'; exit 7").await;
    agent.line().await;
    agent.process.interrupt();
    assert_eq!(agent.all_text().await, ["interrupted"]);
    assert_eq!(within(agent.process.wait()).await.code, Some(7));
}

#[tokio::test]
async fn a_termination_is_sigterm() {
    let mut agent = shell("echo ready; exec sleep 1000").await;
    agent.line().await;
    agent.process.terminate();
    assert_eq!(within(agent.process.wait()).await, Exit { code: None, signal: Some(15) });
}

#[tokio::test]
async fn an_agent_that_shrugs_off_every_rung_dies_by_the_last() {
    let mut agent = shell(
        "trap 'echo not by INT' INT; trap 'echo not by TERM' TERM; echo ready
         while :; do sleep 1000 & wait $!; done",
    )
    .await;
    agent.line().await;
    agent.process.interrupt();
    assert_eq!(agent.line().await, "not by INT");
    agent.process.terminate();
    assert_eq!(agent.line().await, "not by TERM");
    agent.process.kill();
    assert_eq!(within(agent.process.wait()).await, Exit { code: None, signal: Some(9) });
}

#[tokio::test]
async fn a_stopped_agent_dies_too() {
    let mut agent = shell("echo ready; kill -STOP $$; echo never").await;
    agent.line().await;
    agent.process.kill();
    assert_eq!(agent.all_lines().await, []);
    assert_eq!(within(agent.process.gone()).await.signal, Some(9));
}

#[tokio::test]
async fn an_order_after_the_end_is_no_error() {
    let agent = shell("exit 0").await;
    within(agent.process.gone()).await;
    agent.process.interrupt();
    agent.process.kill();
    assert_eq!(within(agent.process.wait()).await.code, Some(0));
}
