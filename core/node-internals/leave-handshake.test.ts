import { duplexPair } from "node:stream";
import { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { leaveHandshake } from "./leave-handshake.ts";

test("Node still marks a TLS socket with the flag, and it is cleared", () => {
  const [near] = duplexPair();
  const tls = new TLSSocket(near as ConstructorParameters<typeof TLSSocket>[0], { isServer: true });
  tls.on("error", () => {});
  expect(Reflect.get(tls, "secureConnecting")).toBe(true);
  leaveHandshake(tls);
  expect(Reflect.get(tls, "secureConnecting")).toBe(false);
  tls.destroy();
});
