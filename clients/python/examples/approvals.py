"""A command that a person has to say yes to. Takes the operator's token, and rules that ask (docs/approvals.md)."""

from trl_client import ApprovalPending, Client, operator_token

with Client() as agent, Client(token=operator_token()) as operator:
    with agent.session(name="careful") as session:
        try:
            # It does not run yet: it will when somebody says yes. With "wait" this call would wait for that.
            session.run("echo removed", approval="return")
        except ApprovalPending as pending:
            request = operator.approvals.get(pending.request_id)
            print(request["command"], "is", request["state"])
            # An answer quotes the digest of what was shown, so nobody approves what they did not see.
            print(operator.approvals.approve(request)["state"])
            assert pending.execution_id is not None
            print(agent.process(pending.execution_id).wait().text.strip())
