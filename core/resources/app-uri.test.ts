import { expect, test } from "vitest";
import { parseAppUri, speaksHttp } from "./app-uri.ts";

test.for([
  ["tcp://db:5432", { scheme: "tcp", host: "db", port: 5432 }],
  ["tcp://db", { scheme: "tcp", host: "db", port: undefined }],
  ["tcp://[::1]", { scheme: "tcp", host: "::1", port: undefined }],
  ["http://a.test", { scheme: "http", host: "a.test", port: 80, path: "/" }],
  ["https://a.test/start/here", { scheme: "https", host: "a.test", port: 443, path: "/start/here" }],
  ["http://[::1]:8080", { scheme: "http", host: "::1", port: 8080, path: "/" }],
  ["unix:///run/app.sock", { scheme: "unix", socketPath: "/run/app.sock", path: "/" }],
] as const)("%s is the address of an application", ([text, parsed]) => {
  expect(parseAppUri(text)).toEqual(parsed);
  expect(speaksHttp(parsed)).toBe(parsed.scheme !== "tcp");
});

test.for([
  "",
  "a.test:80",
  "tcp://db:",
  "tcp://db/",
  "tcp://db:0",
  "tcp://db:1/x",
  "http://",
  "http://user:pw@a.test",
  "http://a.test/?q=1",
  "http://a.test/#x",
  "http://a.test\\@b.test",
  "ftp://a.test",
  "javascript:alert(1)",
  "unix://host/run/app.sock",
  "unix:///run/%2e%2e/app.sock",
  `unix:///${"x".repeat(120)}`,
])("%j is none", (text) => {
  expect(parseAppUri(text)).toBeUndefined();
});
