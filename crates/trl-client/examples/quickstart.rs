// Runs commands in a throw-away session, and in one whose state stays. Tests run this.

use std::time::Duration;

use trl_client::proto::ErrorCode;
use trl_client::{Client, ClientError, Command, NewSession};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ClientError> {
    let trl = Client::connect().await?;
    let done = trl.run("echo hello; echo oops >&2; exit 7").await?;
    println!("{} {} {}", done.exit_code(), done.text().trim(), done.error_text().trim());

    // A command that takes too long is a result, not an error.
    let slow = trl.run(Command::new("echo part; sleep 60").timeout(Duration::from_millis(200))).await?;
    println!("timed out: {} after writing {:?}", slow.outcome.timed_out, slow.text());

    // One shell: the directory, variables and functions stay from command to command.
    let work = trl.session(NewSession::default().shell("bash")).await?;
    work.run("cd /usr && export WHO=me").await?.check()?;
    print!("{}", work.run(r#"echo "$WHO in $PWD""#).await?.text());
    // A command that ends its own shell does not end the session.
    let ended = work.run("WHO=nobody; exit 3").await?;
    println!("{:?} {}", ended.outcome.shell_state, work.run("echo $WHO").await?.text().trim());
    work.destroy().await?;

    // What the daemon refuses is an error with its code.
    match work.run("true").await {
        Err(ClientError::Refused(error)) if error.code == ErrorCode::SessionTerminated => {
            println!("it is gone")
        }
        other => println!("{other:?}"),
    }
    Ok(())
}
