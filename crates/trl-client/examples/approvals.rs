// A command that a person has to say yes to. Takes the operator's token, and rules that ask (docs/approvals.md). Tests run this.

use trl_client::proto::Untrusted;
use trl_client::proto::exec::Approval;
use trl_client::proto::hitl::Scope;
use trl_client::{Answer, Client, ClientError, Command};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ClientError> {
    let agent = Client::connect().await?;
    let operator = Client::builder().operator().connect().await?;

    // It does not run yet: it will when somebody says yes. With `Approval::Wait` this call would wait for that.
    let asked = agent.run(Command::new("echo removed").approval(Approval::Return).detached()).await;
    let Err(ClientError::Pending { request_id, execution_id: Some(execution), .. }) = asked else {
        println!("nobody was asked: {asked:?}");
        return Ok(());
    };
    let request = operator.approvals().get(&request_id).await?;
    // Text of an agent could act on the terminal, or hide a part of itself.
    println!("{} is {:?}", Untrusted::new(&request.command), request.state);
    // An answer quotes the digest of what was shown, so nobody approves what they did not see.
    let settled = operator.approvals().respond(&request, Answer::approve(Scope::Once)).await?;
    println!("{:?}", settled.state);
    println!("ended with {}", agent.process(execution).outcome().await?.exit_code);
    Ok(())
}
