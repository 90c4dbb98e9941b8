/** A command that a person has to say yes to. Takes the operator's token, and rules that ask (docs/approvals.md). */
import { Client, isTrlError, operatorToken } from "trl-client";

const agent = new Client();
const operator = new Client({ token: operatorToken() });

const session = await agent.session({ name: "careful" });
try {
  // It does not run yet: it will when somebody says yes. With "wait" this call would wait for that.
  await session.run("echo removed", { approval: "return" });
} catch (error) {
  if (!isTrlError(error, "APPROVAL_PENDING")) throw error;
  const { request_id, execution_id } = error.details as { request_id: string; execution_id: string };
  const request = await operator.approvals.get(request_id);
  console.log(request.command, "is", request.state);
  // An answer quotes the digest of what was shown, so nobody approves what they did not see.
  console.log((await operator.approvals.approve(request)).state);
  console.log((await agent.processById(execution_id).wait()).text.trim());
}
await session.destroy();
