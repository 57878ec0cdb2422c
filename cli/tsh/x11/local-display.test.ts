import { expect, test } from "vitest";
import { parseDisplay } from "./local-display.ts";

test.for([
  [":0", { connect: { path: "/tmp/.X11-unix/X0" }, screen: 0, name: "unix:0" }],
  ["unix:12.3", { connect: { path: "/tmp/.X11-unix/X12" }, screen: 3, name: "unix:12" }],
  ["localhost:10.0", { connect: { host: "localhost", port: 6010 }, screen: 0, name: "localhost:10.0" }],
  ["[::1]:1", { connect: { host: "::1", port: 6001 }, screen: 0, name: "[::1]:1" }],
  ["/private/tmp/x/org.xquartz:0", { connect: { path: "/private/tmp/x/org.xquartz" }, screen: 0, name: "/private/tmp/x/org.xquartz:0" }],
] as const)("DISPLAY=%s", ([text, expected]) => {
  expect(parseDisplay(text)).toEqual(expected);
});

test.for(["", "0", ":", ":x", "a b:0", "-q:0 extract", ":0.1.2", ":123456"])("DISPLAY=%j names no X server", (text) => {
  expect(parseDisplay(text)).toBeUndefined();
});
