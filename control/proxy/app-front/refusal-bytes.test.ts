import { once } from "node:events";
import { connect, constants } from "node:http2";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { refusalBytes } from "./refusal-bytes.ts";

const denied = new PlatformError("denied", "access denied: no role allows ü", { hint: "ask" });

test("an answer of HTTP/1.1 with the reason, after which the connection ends", () => {
  const text = refusalBytes(denied, false).toString();
  const [head = "", body = ""] = text.split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
  expect(head).toContain("Connection: close");
  expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
  expect(body).toContain("no role allows ü");
});

test.for<readonly [code: PlatformError["code"], status: string]>([
  ["unauthenticated", "401"],
  ["not_found", "404"],
  ["unavailable", "502"],
  ["timeout", "504"],
])("%s: %s", ([code, status]) => {
  expect(refusalBytes(new PlatformError(code, "x"), false).toString()).toContain(`HTTP/1.1 ${status} `);
});

test("a failure of ours does not show its text", () => {
  const failure = new PlatformError("internal", "secret at 10.0.0.5");
  for (const isHttp2 of [false, true]) expect(refusalBytes(failure, isHttp2).toString()).not.toContain("10.0.0.5");
});

test("a client of HTTP/2 reads the reason as the end of the connection", async () => {
  const [near, far] = duplexPair();
  far.write(refusalBytes(denied, true));
  const session = connect("http://wiki", { createConnection: () => near });
  session.on("error", () => {});
  const [code, last, words] = (await once(session, "goaway")) as [number, number, Buffer];
  expect([code, last]).toEqual([constants.NGHTTP2_INADEQUATE_SECURITY, 0]);
  expect(String(words)).toContain("no role allows ü");
  session.destroy();
});
