// A proxy on loopback that adds a token: the conformance suite cannot send an `Authorization` header, and TRL takes nobody
// without one.
//
// 1. `node with-token.mjs HOST:PORT` prints `{"port": N}` and serves until its stdin is closed. The token is TRL_AUTH_TOKEN.
// 2. A request goes on as it came, `Host` and `Origin` included, which the daemon's guard is to judge; only the token is
//    new. Answers come back as they are, event by event.
// 3. Whoever goes takes the request with them, as without a proxy.

import { createServer, request } from "node:http";

const [host, port] = process.argv[2].split(":");
const authorization = ["Authorization", `Bearer ${process.env.TRL_AUTH_TOKEN}`];

const server = createServer((asked, answer) => {
  const { method, url: path, rawHeaders } = asked;
  const onward = request({ host, port, method, path, setHost: false, headers: [...rawHeaders, ...authorization] });
  onward.on("response", (got) => {
    answer.writeHead(got.statusCode, got.rawHeaders);
    // An event stream may have nothing to say for a while, and has begun all the same.
    answer.flushHeaders();
    got.pipe(answer);
    got.on("error", () => answer.destroy());
  });
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
});

server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));
process.stdin.resume().on("end", () => process.exit());
