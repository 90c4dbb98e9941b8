// Output as it comes, a process that is talked to, and a program on a terminal. Tests run this.

use std::time::Duration;

use trl_client::{Client, ClientError, Program};

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ClientError> {
    let trl = Client::connect().await?;

    // Output as it is written. Dropping the stream early would end the command.
    let mut lines = trl.stream("for i in 1 2 3; do echo line $i; done; exit 4").await?;
    while let Some(chunk) = lines.next().await? {
        print!("{}", chunk.text());
    }
    println!("exit {:?}", lines.outcome().map(|outcome| outcome.exit_code));

    // A process that outlives the call which started it: wait for words, answer, wait for its end.
    let server = Program::shell("echo ready; while read word; do echo got $word; done");
    let server = trl.start(server.yield_after(Duration::from_millis(250))).await?;
    println!("{:?}", server.wait_for("ready", PATIENCE).await?.reason);
    server.write("a question\n").await?;
    let answered = server.wait_for("got a question", PATIENCE).await?;
    println!("answered at byte {:?}", answered.matched.map(|matched| matched.from));
    server.close_stdin().await?;
    println!("ended with {}", server.outcome().await?.exit_code);

    // On a terminal: it is waited for in the same way, and its screen is what a person would see.
    let shell = Program::new(["sh"]).env("PS1", "> ").tty(40, 5).yield_after(Duration::from_millis(250));
    let shell = trl.start(shell).await?;
    shell.wait_for("> ", PATIENCE).await?;
    shell.write("echo $((6 * 7))\r").await?;
    shell.wait_for("42", PATIENCE).await?;
    let terminal = shell.started().and_then(|started| started.terminal_id.clone());
    let screen = trl.terminal_by_id(terminal.ok_or(ClientError::Lost)?).text().await?;
    println!("{}", screen.lines().nth(1).unwrap_or_default());
    shell.cancel().await?;
    Ok(())
}
