//! Commands that wait for a person.

use trl_client::proto::ErrorCode;
use trl_client::proto::event::{Happening, Kind, SubscribeParams};
use trl_client::proto::exec::Approval;
use trl_client::proto::hitl::{AuditParams, RequestListParams, RequestState, Scope};
use trl_client::{Answer, ClientError, Command};

use super::{PATIENCE, connect, daemon, operator};

#[tokio::test]
async fn a_person_says_yes_no_or_something_else() {
    let daemon = daemon();
    std::fs::write(daemon.dir().join("config/trl/approvals.yaml"), "default: ask\n").unwrap();
    let (agent, operator) = (connect(&daemon).await, operator(&daemon).await);
    let kinds = Some(vec![Kind::HitlRequested]);
    let mut events = operator.events(SubscribeParams { kinds, ..SubscribeParams::default() }).await.unwrap();
    let requests = operator.approvals();
    let answers = [
        Answer::approve(Scope::Once),
        Answer::edited("echo instead"),
        Answer::reject(Some("not today".into())),
    ];
    let mut said = Vec::new();
    for answer in answers {
        let run = tokio::spawn({
            let agent = agent.clone();
            async move { agent.run("echo first").await }
        });
        let Happening::HitlRequested { request_id, .. } = events.next().await.unwrap().what else {
            panic!("another event");
        };
        let seen = requests.get(&request_id).await.unwrap();
        assert_eq!(requests.list(RequestListParams::default()).await.unwrap().first(), Some(&seen));
        let settled = requests.respond(&seen, answer).await.unwrap();
        assert_eq!(agent.approvals().wait(&request_id, Some(PATIENCE)).await.unwrap().state, settled.state);
        said.push(run.await.unwrap());
    }
    let [Ok(first), Ok(instead), Err(ClientError::Refused(refused))] = &said[..] else { panic!("{said:?}") };
    assert_eq!((first.text().as_ref(), instead.text().as_ref()), ("first\n", "instead\n"));
    assert_eq!(refused.code, ErrorCode::ApprovalDenied);
    assert!(requests.audit(AuditParams::default()).await.unwrap().len() >= 3);
}

#[tokio::test]
async fn whoever_does_not_wait_gets_the_ids() {
    let daemon = daemon();
    std::fs::write(daemon.dir().join("config/trl/approvals.yaml"), "default: ask\n").unwrap();
    let (agent, operator) = (connect(&daemon).await, operator(&daemon).await);
    let asked = agent.run(Command::new("echo hi").approval(Approval::Return).detached()).await;
    let Err(ClientError::Pending { request_id, execution_id: Some(id), .. }) = asked else {
        panic!("{asked:?}")
    };
    let seen = operator.approvals().get(&request_id).await.unwrap();
    let settled = operator.approvals().respond(&seen, Answer::approve(Scope::Once)).await.unwrap();
    assert_eq!(settled.state, RequestState::Approved);
    assert_eq!(agent.process(id).outcome().await.unwrap().exit_code, 0);
}
