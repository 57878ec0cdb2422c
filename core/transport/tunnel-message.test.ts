import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import {
  type AgentMessage,
  decodeAgentMessage,
  decodeProxyMessage,
  encodeTunnelMessage,
  maxTunnelMessage,
  type ProxyMessage,
} from "./tunnel-message.ts";

const fromAgent: readonly AgentMessage[] = [
  { type: "hello", hostname: "db-1", labels: { env: "prod" }, services: ["ssh"], version: "1.0.0" },
  { type: "ping", time: 1.5 },
  { type: "draining" },
];
const fromProxy: readonly ProxyMessage[] = [
  { type: "welcome", proxyId: "p", accessRevision: "3" },
  { type: "pong", time: 0, accessRevision: "3" },
  { type: "access", accessRevision: "4" },
  { type: "drain" },
  { type: "refused", code: "denied", message: "no", hint: "ask" },
  { type: "refused", code: "limit", message: "no" },
];

function code(act: () => unknown): string {
  try {
    act();
    return "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown.code;
    throw thrown;
  }
}
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe("tunnel messages", () => {
  test.for(fromAgent)("the agent's $type comes through", (message) => {
    const bytes = encodeTunnelMessage(message);
    expect(bytes.readUInt32BE(0)).toBe(bytes.length - 4);
    expect(decodeAgentMessage(bytes.subarray(4))).toEqual(message);
  });

  test.for(fromProxy)("the proxy's $type comes through", (message) => {
    expect(decodeProxyMessage(encodeTunnelMessage(message).subarray(4))).toEqual(message);
  });

  test("neither side accepts the other's messages", () => {
    for (const message of fromProxy) expect(code(() => decodeAgentMessage(json(message)))).toBe("invalid");
    for (const message of fromAgent) expect(code(() => decodeProxyMessage(json(message)))).toBe("invalid");
  });

  test.for<readonly [name: string, body: Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["no JSON", Buffer.from("{")],
    ["no object", json(7)],
    ["null", json(null)],
    ["no type", json({})],
    ["an unknown type", json({ type: "surprise" })],
    ["a ping without a time", json({ type: "ping" })],
    ["a ping whose time is a text", json({ type: "ping", time: "1" })],
    ["a host name with a space", json({ ...fromAgent[0], hostname: "a b" })],
    ["a label with a bad key", json({ ...fromAgent[0], labels: { "a b": "c" } })],
    ["too many services", json({ ...fromAgent[0], services: Array(17).fill("ssh") })],
  ])("%s is refused", ([, body]) => {
    expect(code(() => decodeAgentMessage(body))).toBe("invalid");
  });

  test("a message that is too long is refused by its sender", () => {
    const labels = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, "v".repeat(256)]));
    expect(code(() => encodeTunnelMessage({ type: "hello", hostname: "a", labels, services: [], version: "1" }))).toBe("invalid");
    expect(maxTunnelMessage).toBe(65_536);
  });

  test("any bytes and any JSON are decoded or refused with a PlatformError", () => {
    const bodies = fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      fc.jsonValue().map(json),
      fc.record({ type: fc.constantFrom("hello", "ping", "pong", "welcome", "refused"), time: fc.jsonValue(), hostname: fc.jsonValue() }).map(json),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        code(() => decodeAgentMessage(body));
        code(() => decodeProxyMessage(body));
      }),
    );
  });
});
