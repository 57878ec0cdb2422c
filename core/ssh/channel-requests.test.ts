import fc from "fast-check";
import { expect, test } from "vitest";
import { string, u8, u32 } from "../bytes/fields.ts";
import { readChannelRequest } from "./channel-requests.ts";
import { encodeTerminalModes } from "./terminal-modes.ts";

const odd = Buffer.from([0x63, 0xe4, 0xff, 0x80, 0x20]);
const request = (name: string, wantsReply: boolean, ...data: Buffer[]): Buffer =>
  Buffer.concat([u8(98), u32(7), string(name), u8(wantsReply ? 1 : 0), ...data]);

const requests = {
  exec: request("exec", true, string(odd)),
  env: request("env", false, string("LC_X"), string(odd)),
  pty: request("pty-req", true, string("xterm"), u32(80), u32(24), u32(0), u32(0), string(encodeTerminalModes({ VERASE: 8 }))),
};

test("bytes of a command and of a variable's value are kept as they are", () => {
  expect(readChannelRequest(requests.exec)).toEqual({ channel: 7, name: "exec", wantsReply: true, data: odd });
  expect(readChannelRequest(requests.env)).toEqual({ channel: 7, name: "env", wantsReply: false, data: { name: "LC_X", value: odd } });
});

test("a terminal is read with its modes", () => {
  expect(readChannelRequest(requests.pty)?.data).toEqual({ term: "xterm", cols: 80, rows: 24, modes: { VERASE: 8 } });
});

test("other requests, and those cut short, are left to ssh2", () => {
  expect(readChannelRequest(request("shell", true))).toBeUndefined();
  for (const whole of Object.values(requests)) {
    for (let length = 0; length < whole.length; length += 1) expect(readChannelRequest(whole.subarray(0, length))).toBeUndefined();
  }
});

test("the reader never fails on any bytes", () => {
  fc.assert(
    fc.property(fc.constantFrom("exec", "env", "pty-req", "x"), fc.uint8Array({ maxLength: 200 }), (name, rest) => {
      readChannelRequest(request(name, true, Buffer.from(rest)));
      readChannelRequest(Buffer.from(rest));
    }),
  );
});
