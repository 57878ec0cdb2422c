import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { listenTcp, onRequest } from "../../../core/transport/dial/testing/test-server.ts";
import { relay } from "../../../core/transport/relay.ts";
import { passUpgrade } from "./pass-upgrade.ts";

// Values of headers are bytes: those above 0x7f are not always UTF-8.
const bytes = "caf\u00e9 \u0080\u00ff \u00c3\u00bc";

test.for([
  ["101 Switching Protocols", "Connection: Upgrade\r\nUpgrade: websocket"],
  ["403 Forbidden", "Content-Length: 0"],
] as const)("the headers of a request for a WebSocket, and those of its answer %s, pass byte for byte", async ([status, fields]) => {
  const asked = Promise.withResolvers<string>();
  const agent = await listenTcp((socket) => {
    onRequest(socket, (head) => {
      asked.resolve(head);
      socket.end(`HTTP/1.1 ${status}\r\n${fields}\r\nX-Name: ${bytes}\r\n\r\n`, "latin1");
    });
  });
  const front = createServer();
  front.on("upgrade", (request, socket, head) => {
    const over = connect(agent.port, agent.host) as Socket as TLSSocket;
    void passUpgrade(request, { socket, head }, { connect: async () => over, join: (client, its) => void relay(client, its) });
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  const client = connect((front.address() as AddressInfo).port, "127.0.0.1");
  client.write(
    `GET /ws HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Name: ${bytes}\r\nCookie: a=${bytes}\r\n\r\n`,
    "latin1",
  );
  const answer = Buffer.concat(await client.toArray()).toString("latin1");
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status}\r\n`));
  expect(/^X-Name: (.*)\r$/m.exec(answer)?.[1]).toBe(bytes);
  const head = await asked.promise;
  expect([/^X-Name: (.*)\r$/m.exec(head)?.[1], /^Cookie: a=(.*)\r$/m.exec(head)?.[1]]).toEqual([bytes, bytes]);
  front.close();
  agent.close();
});
