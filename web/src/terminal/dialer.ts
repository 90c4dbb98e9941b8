/** Calls over WebSocket: a ticket first, then the socket. */
import { ApiError, socketAddress, ticket } from "../api/http";
import type { Call, Dialer, DialQuery, Ear } from "./link";
import { SUBPROTOCOL } from "./protocol";

export const dialer: Dialer = {
  dial(query: DialQuery, ear: Ear): Call {
    let socket: WebSocket | null = null;
    let over = false;
    ticket().then(
      (ticket) => {
        if (!over) socket = open(query, ticket, ear);
      },
      (error: unknown) => {
        if (!over) ear.refused(error instanceof ApiError ? error.status : 0);
      },
    );
    return {
      send(data) {
        if (socket?.readyState === WebSocket.OPEN) socket.send(data);
      },
      hangUp() {
        over = true;
        socket?.close();
      },
    };
  },
};

function open(query: DialQuery, ticket: string, ear: Ear): WebSocket {
  const asked: Record<string, string> = { ticket, mode: query.mode, client: query.client };
  if (query.gen !== undefined) asked["gen"] = query.gen;
  if (query.since !== undefined) asked["since"] = String(query.since);
  if (query.window !== undefined) {
    asked["cols"] = String(query.window.cols);
    asked["rows"] = String(query.window.rows);
  }
  const path = `/ws/terminal/${encodeURIComponent(query.terminalId)}`;
  const socket = new WebSocket(socketAddress(path, asked), SUBPROTOCOL);
  socket.binaryType = "arraybuffer";
  socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
    if (typeof event.data === "string") ear.text(event.data);
    else ear.bytes(new Uint8Array(event.data));
  };
  // An error is always followed by this.
  socket.onclose = (event) => ear.closed(event.code);
  return socket;
}
