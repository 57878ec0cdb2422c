import { EventEmitter } from "node:events";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { silentLog } from "../core/log/log.ts";
import type { SshConnection } from "../core/ssh/ssh-client.ts";
import { readMessages } from "../core/transport/read-messages.ts";
import { type AgentMessage, decodeAgentMessage, encodeTunnelMessage } from "../core/transport/tunnel-message.ts";
import { Tunnel } from "./tunnel.ts";

test("a new tunnel asks at once for the proxy's revisions: the maintenance windows may have changed", async () => {
  const [control, far] = duplexPair();
  const [transport] = duplexPair();
  const asked: AgentMessage[] = [];
  readMessages(far, {
    decode: decodeAgentMessage,
    onMessage: (message) => {
      asked.push(message);
      if (message.type === "ping")
        far.write(encodeTunnelMessage({ type: "pong", time: message.time, accessRevision: "1", maintenanceRevision: "7" }));
    },
    onError: () => {},
  });
  const revision = Promise.withResolvers<string>();
  const connection = Object.assign(new EventEmitter(), { end: () => {} }) as unknown as SshConnection;
  const opened = {
    connection,
    transport: Object.assign(transport, { bytesRead: 0 }),
    control,
    welcome: { type: "welcome" as const, proxyId: "p", accessRevision: "1" },
    status: { upgrader: "unit" as const, sessions: 0 },
    labels: {},
  };
  const ignored = (): void => {};
  const events = { onAccess: ignored, onMaintenance: revision.resolve, onAuthorities: ignored, onProxies: ignored, onDrain: ignored, onEnd: ignored };
  const tunnel = new Tunnel(opened, { log: silentLog, clock: { wall: () => 5, steady: () => 5 }, events });
  expect(await revision.promise).toBe("7");
  expect(asked).toEqual([{ type: "ping", time: 5 }]);
  tunnel.end("the test ends");
});
