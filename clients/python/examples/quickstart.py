"""Runs commands in a throw-away session, and in one whose state stays."""

from trl_client import Client, SessionNotFound

with Client() as trl:
    result = trl.run("echo hello; echo oops >&2; exit 7")
    print(result.exit_code, result.text.strip(), result.stderr_text.strip())

    # A command that takes too long is a result, not an exception.
    slow = trl.run("echo part; sleep 60", timeout_s=0.2)
    print("timed out:", slow.timed_out, "after writing", slow.stdout)

    # One shell: the directory, variables and functions stay from command to command.
    with trl.session(shell="bash", name="example") as session:
        session.run("cd /usr && export WHO=me").check()
        print(session.run('echo "$WHO in $PWD"').text.strip())
        # A command that ends its own shell does not end the session.
        print(session.run("WHO=nobody; exit 3").shell_state, session.run("echo $WHO").text.strip())

    # What the daemon refuses is an exception by its code.
    try:
        trl.session("s-nope1234").run("true")
    except SessionNotFound as error:
        print(error.code)
