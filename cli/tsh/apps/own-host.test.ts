import { describe, expect, test } from "vitest";
import { firstRequest, hostOption, loopbackHosts, startsRequest } from "./own-host.ts";

const own = [...loopbackHosts(9000), ...hostOption(["dev.test", "other.test:8080"])];
const judge = (text: string) => firstRequest(Buffer.from(text, "latin1"), own);
const asked = (...hosts: readonly string[]) => judge(`GET / HTTP/1.1\r\nX-A: 1\r\n${hosts.map((host) => `${host}\r\n`).join("")}\r\n`);

describe("the first request of a connection", () => {
  test.for([
    "Host: 127.0.0.1:9000",
    "host:localhost:9000",
    "HOST: \tLocalHost:9000 ",
    "Host: [::1]:9000",
    "Host: dev.test",
    "Host: dev.test:1234",
    "Host: other.test:8080",
  ])("names the port with %j", (host) => {
    expect(asked(host)).toEqual({ kind: "own" });
  });

  test.for([
    ["Host: attacker.example:9000", "attacker.example:9000"],
    ["Host: attacker.example", "attacker.example"],
    ["Host: 127.0.0.1:9001", "127.0.0.1:9001"],
    ["Host: localhost", "localhost"],
    ["Host: localhost.attacker.example:9000", "localhost.attacker.example:9000"],
    ["Host: 127.0.0.1.attacker.example:9000", "127.0.0.1.attacker.example:9000"],
    ["Host: user@127.0.0.1:9000", "user@127.0.0.1:9000"],
    ["Host: 127.0.0.1:9000, attacker.example", "127.0.0.1:9000, attacker.example"],
    ["Host: 0.0.0.0:9000", "0.0.0.0:9000"],
    ["Host: other.test:9000", "other.test:9000"],
    ["Host : attacker.example", "attacker.example"],
    ["Host:", ""],
  ] as const)("is for another host with %j", ([host, named]) => {
    expect(asked(host)).toEqual({ kind: "foreign", host: named });
  });

  test("is for another host if one of its hosts is", () => {
    expect(asked("Host: 127.0.0.1:9000", "Host: attacker.example")).toEqual({ kind: "foreign", host: "attacker.example" });
    expect(judge("GET http://attacker.example/ HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n\r\n")).toEqual({ kind: "foreign", host: "attacker.example" });
    expect(judge("GET http://u@127.0.0.1:9000/ HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n\r\n")).toMatchObject({ kind: "foreign" });
    expect(judge("GET http://127.0.0.1:9000/ HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n\r\n")).toEqual({ kind: "own" });
    expect(judge("\r\n\r\nGET / HTTP/1.1\r\nHost: attacker.example\r\n\r\n")).toMatchObject({ kind: "foreign" });
    expect(judge("GET / HTTP/1.1\nHost: attacker.example\n\n")).toMatchObject({ kind: "foreign" });
  });

  test("needs a port of its own only where that is not 80", () => {
    expect(firstRequest(Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), loopbackHosts(80))).toEqual({ kind: "own" });
  });

  test("is not known before its headers have ended, and does not grow without a limit", () => {
    const whole = "POST /a HTTP/1.1\r\nHost: attacker.example\r\nCookie: x\r\n\r\nbody";
    const end = whole.indexOf("\r\n\r\n") + 4;
    for (let length = 0; length < end; length += 1) expect(judge(whole.slice(0, length)), String(length)).toBeUndefined();
    expect(judge(whole)).toMatchObject({ kind: "foreign" });
    expect(judge(`GET / HTTP/1.1\r\nX: ${"x".repeat(65_536)}`)).toEqual({ kind: "too long" });
    expect(judge(`GET /${"x".repeat(65_536)}`)).toEqual({ kind: "too long" });
  });

  test("may be of HTTP/2, which no browser speaks without TLS, or of another protocol", () => {
    expect(judge("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000")).toEqual({ kind: "own" });
    for (const text of ["\u0016\u0003\u0001", "\u0000\u0000\u0000\u0008", "PING\r\n", "*1\r\n$4\r\n", "AUTH \u0000"]) {
      expect(judge(text), JSON.stringify(text)).toEqual({ kind: "other protocol" });
    }
  });
});

test("a first piece that no browser writes is of another protocol at once", () => {
  const starts = (text: string): boolean => startsRequest(Buffer.from(text, "latin1"));
  for (const text of ["m", "GET", "GET /", "set key 0 0 5\r\n", "EHLO example.com\r\n", "PING\r\n", "\r\n", "\u0016\u0003\u0001", "select 1;\n"])
    expect(starts(text), JSON.stringify(text)).toBe(false);
  for (const text of ["GET / HTTP/1.1\r\n", "ANY /a HTTP/1.1\r\nHost: x", "\r\nGET / HTTP/1.0\n", `GET /${"x".repeat(5_000)}`])
    expect(starts(text)).toBe(true);
});

test("--host takes names with and without a port", () => {
  expect(hostOption(["dev.test", "dev.test:81", "[::2]:82"])).toEqual([
    { host: "dev.test", port: 0 },
    { host: "dev.test", port: 81 },
    { host: "::2", port: 82 },
  ]);
  expect(() => hostOption(["http://dev.test"])).toThrow(/--host/);
});
