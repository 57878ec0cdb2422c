import { describe, expect, test } from "vitest";
import { readPlainRequest } from "./plain-request.ts";

const get = "GET /a HTTP/1.1\r\n";
const host = "Host: proxy.test:443\r\n";

describe("a plain request is read", () => {
  test.for([
    ["wrk", `${get}${host}\r\n`],
    ["curl", `${get}${host}User-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n`],
    ["Go", `${get}${host}User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n\r\n`],
    ["fetch", `${get}host: proxy.test\r\nconnection: keep-alive\r\naccept: */*\r\naccept-language: *\r\nuser-agent: node\r\n\r\n`],
    ["Node with headers before the host", `${get}Accept: text/plain\r\n${host}Connection: keep-alive\r\n\r\n`],
    ["what a load balancer adds", `${get}${host}X-Forwarded-For: 192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\nVia: 1.1 front\r\n\r\n`],
  ] as const)("of %s", ([, text]) => {
    expect(readPlainRequest(`${text}more`, 0)).toEqual({ path: "/a", end: text.length });
    expect(readPlainRequest(`before${text}`, 6)).toEqual({ path: "/a", end: text.length + 6 });
    for (let end = 0; end < text.length; end += 1) expect(readPlainRequest(text.slice(0, end), 0)).toBeUndefined();
  });
});

describe("what is left to a real parser:", () => {
  test.for([
    ["a body by its length", `${get}${host}Content-Length: 5\r\n\r\nabcde`],
    ["a length of nothing", `${get}${host}Content-Length: 0\r\n\r\n`],
    ["a body in chunks", `${get}${host}Transfer-Encoding: chunked\r\n\r\n`],
    ["another host", `${get}${host}${host}\r\n`],
    ["no host", `${get}Accept: */*\r\n\r\n`],
    ["an end of the connection", `${get}${host}Connection: close\r\n\r\n`],
    ["more options of the connection", `${get}${host}Connection: keep-alive, Upgrade\r\n\r\n`],
    ["an upgrade", `${get}${host}Upgrade: h2c\r\n\r\n`],
    ["an expectation", `${get}${host}Expect: 100-continue\r\n\r\n`],
    ["an unknown header", `${get}${host}Range: bytes=0-1\r\n\r\n`],
    ["a folded header", `${get}${host}Accept: a\r\n b\r\n\r\n`],
    ["a space before the colon", `${get}${host}Accept : a\r\n\r\n`],
    ["a name that only begins like a known one", `${get}${host}Accept\0: a\r\n\r\n`],
    ["a value with a control character", `${get}${host}Accept: a\0\r\n\r\n`],
    ["a value of other than ASCII", `${get}${host}Accept: \xe9\r\n\r\n`],
    ["lines that end without a carriage return", `${get}${host}Accept: a\n\r\n`],
    ["an end without a carriage return", `${get}${host}\n`],
    ["a bare carriage return", `${get}${host}Accept: a\rContent-Length: 5\r\n\r\n`],
    ["an empty line before", `\r\n${get}${host}\r\n`],
    ["HTTP/1.0", `GET /a HTTP/1.0\r\n${host}\r\n`],
    ["no version", `GET /a\r\n${host}\r\n`],
    ["a method in small letters", `get /a HTTP/1.1\r\n${host}\r\n`],
    ["another method", `HEAD /a HTTP/1.1\r\n${host}\r\n`],
    ["a whole URL", `GET http://proxy.test/a HTTP/1.1\r\n${host}\r\n`],
    ["two spaces", `GET  /a HTTP/1.1\r\n${host}\r\n`],
    ["a path of other than ASCII", `GET /\xe9 HTTP/1.1\r\n${host}\r\n`],
    ["a long path", `GET /${"a".repeat(513)} HTTP/1.1\r\n${host}\r\n`],
    ["a long header", `${get}${host}Accept: ${"a".repeat(257)}\r\n\r\n`],
    ["many headers", `${get}${host}${"Accept: a\r\n".repeat(13)}\r\n`],
  ] as const)("%s", ([, text]) => {
    expect(readPlainRequest(text, 0)).toBeUndefined();
  });

  test("a head that nearly matches costs no more than one that does", () => {
    const head = `${get}${"X-A: b\r\n".repeat(12)}${host}${"X-A: b\r\n".repeat(12)}`;
    const began = performance.now();
    for (let tries = 0; tries < 1000; tries += 1) expect(readPlainRequest(`${head}X`, 0)).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
