import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { PlatformError } from "../../errors/platform-error.ts";
import { decodeConnectReply, encodeConnectRequest, maxReplyHeader } from "./request-tunnel.ts";

describe("encodeConnectRequest", () => {
  test("is one request with the target twice", () => {
    expect(encodeConnectRequest({ host: "c.test", port: 3024 }, undefined).toString()).toBe(
      "CONNECT c.test:3024 HTTP/1.1\r\nHost: c.test:3024\r\nUser-Agent: platform\r\n\r\n",
    );
  });

  test("brackets IPv6", () => {
    expect(encodeConnectRequest({ host: "fd00::1", port: 3024 }, undefined).toString()).toMatch(
      /^CONNECT \[fd00::1\]:3024 HTTP\/1\.1\r\nHost: \[fd00::1\]:3024\r\n/,
    );
  });

  test("carries decoded credentials as UTF-8", () => {
    const text = encodeConnectRequest({ host: "c.test", port: 1 }, { user: "agent", password: "p@ss:wörd" }).toString();
    const token = /\r\nProxy-Authorization: Basic (\S+)\r\n/.exec(text)?.[1] ?? "";
    expect(Buffer.from(token, "base64").toString()).toBe("agent:p@ss:wörd");
  });

  test("no host and no password can add a line", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (host, password) => {
        try {
          const lines = encodeConnectRequest({ host, port: 1 }, { user: "u", password })
            .toString("latin1")
            .split(/[\r\n]+/);
          expect(lines).toHaveLength(5);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      }),
    );
  });
});

const decode = (text: string) => decodeConnectReply(Buffer.from(text, "latin1"));

describe("decodeConnectReply", () => {
  test.for<readonly [reply: string, status: number, reason: string, rest: string]>([
    ["HTTP/1.1 200 Connection established\r\n\r\n", 200, "Connection established", ""],
    ["HTTP/1.0 200 OK\r\nVia: x\r\n\r\nSSH-2.0-x\r\n", 200, "OK", "SSH-2.0-x\r\n"],
    ["HTTP/1.1 200\r\n\r\n", 200, "", ""],
    ["HTTP/1.1 200 \r\n\r\n", 200, "", ""],
    ["HTTP/1.1 200 OK\n\nx", 200, "OK", "x"],
    ["HTTP/1.1 200 OK\nA: b\r\n\nx", 200, "OK", "x"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "OK", "hello"],
    ["HTTP/1.1 407 Proxy Authentication Required\r\n\r\nbody", 407, "Proxy Authentication Required", "body"],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx", 200, "OK", "x"],
    ["HTTP/1.1 102 A\r\nB: c\r\n\r\nHTTP/1.1 103 D\r\n\r\nHTTP/1.1 502 E\r\n\r\n", 502, "E", ""],
    ["HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, "Switching Protocols", ""],
    ["HTTP/1.1 502 \x1b[31mred\x07\r\n\r\n", 502, "?[31mred?", ""],
    [`HTTP/1.1 502 ${"x".repeat(500)}\r\n\r\n`, 502, "x".repeat(100), ""],
  ])("%j", ([text, status, reason, rest]) => {
    const reply = decode(text);
    expect(reply).toMatchObject({ kind: "complete", status, reason });
    expect(reply.kind === "complete" && text.slice(reply.length)).toBe(rest);
  });

  test.for([
    "",
    "H",
    "HTTP/1.",
    "HTTP/1.1 200 OK",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\nA: b\r\n\r",
    "HTTP/1.1 100 C\r\n\r\n",
    "HTTP/1.1 100 C\r\n\r\nHT",
  ])("%j is incomplete", (text) => {
    expect(decode(text)).toEqual({ kind: "incomplete" });
  });

  test.for([
    "S",
    "SSH-2.0-OpenSSH\r\n",
    "HTTP/2 200\r\n\r\n",
    "http/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 600 OK\r\n\r\n",
    "HTTP/1.1 -1 OK\r\n\r\n",
    "HTTP/1.1200 OK\r\n\r\n",
    "HTTP/1.9 200 OK\r\n\r\n",
    "HTTP/1.1 100 C\r\n\r\nSSH-2.0-x",
    "\r\n\r\n",
    `HTTP/1.1 200 ${"x".repeat(maxReplyHeader)}`,
    `HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(maxReplyHeader)}`,
    "HTTP/1.1 100 C\r\n\r\n".repeat(2000),
  ])("%j is malformed", (text) => {
    expect(decode(text).kind).toBe("malformed");
  });

  test("a TLS record is distinguished from other noise", () => {
    expect(decodeConnectReply(Buffer.from([21, 3, 3, 0, 2, 2, 70]))).toMatchObject({ kind: "malformed", looksLikeTls: true });
    expect(decodeConnectReply(Buffer.from([21, 4]))).toMatchObject({ kind: "malformed", looksLikeTls: false });
  });

  test("any bytes, in any pieces, give one answer within the limit and never throw", () => {
    const piece = fc.constantFrom(
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 100 C\r\n",
      "HTTP/1.1 4",
      "\r\n",
      "\n",
      "\r",
      "A: b\r\n",
      "\x16\x03",
      "x".repeat(9000),
      "é",
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((raw) => Buffer.from(raw)),
      fc.array(piece, { maxLength: 8 }).map((parts) => Buffer.from(parts.join(""), "latin1")),
    );
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(300), { maxLength: 20 }), (whole, cuts) => {
        const final = decodeConnectReply(whole);
        for (const cut of cuts.sort((left, right) => left - right)) {
          const early = decodeConnectReply(whole.subarray(0, cut));
          if (early.kind === "incomplete") continue;
          expect(early.kind).toBe(final.kind);
          if (early.kind === "complete") expect(early).toEqual(final);
        }
        if (whole.length >= maxReplyHeader) expect(final.kind).not.toBe("incomplete");
      }),
    );
  });
});
