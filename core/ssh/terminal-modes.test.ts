import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeTerminalModes, encodeTerminalModes, listTerminalModes } from "./terminal-modes.ts";

/** The beginning of the modes from OpenSSH's `ssh -tt`: speeds, then characters. */
const fromOpenSsh = Buffer.from("81000096008000009600010000000302000000" + "1c2a0000000100", "hex");
const value = fc.integer({ min: 0, max: 0xffff_ffff });
const someModes = fc.record(
  { VINTR: value, VERASE: value, IXON: value, IUTF8: value, ONLCR: value, CS8: value, TTY_OP_ISPEED: value, TTY_OP_OSPEED: value },
  { requiredKeys: [] },
);

test("modes as OpenSSH sends them are read", () => {
  expect(decodeTerminalModes(fromOpenSsh)).toEqual({ TTY_OP_OSPEED: 38_400, TTY_OP_ISPEED: 38_400, VINTR: 3, VQUIT: 28, IUTF8: 1 });
});

test("every set of modes survives encoding", () => {
  fc.assert(
    fc.property(someModes, (modes) => {
      expect(decodeTerminalModes(encodeTerminalModes(modes))).toEqual({ ...modes });
    }),
  );
});

test.for([
  ["nothing", "", {}],
  ["only the end", "00", {}],
  ["no end", "0100000003", { VINTR: 3 }],
  ["a value cut short", "01000000030300", { VINTR: 3 }],
  ["an opcode without a name is skipped", "7f00000001" + "0300000008" + "00", { VERASE: 8 }],
  ["an opcode that cannot be read ends the list", "0300000008" + "a000000001" + "0100000003", { VERASE: 8 }],
  ["bytes after the end are not read", "0300000008" + "00" + "0100000003", { VERASE: 8 }],
] as const)("%s", ([, hex, expected]) => {
  expect(decodeTerminalModes(Buffer.from(hex, "hex"))).toEqual(expected);
});

test("the decoder never fails on any bytes, and reads no more modes than there are names", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
      const modes = decodeTerminalModes(Buffer.from(bytes));
      for (const each of Object.values(modes)) expect(each).toBeGreaterThanOrEqual(0);
      expect(decodeTerminalModes(encodeTerminalModes(modes))).toEqual(modes);
    }),
  );
});

test("the list for session-start has opcodes, not names", () => {
  expect(listTerminalModes({ VINTR: 3, VERASE: 127, IXON: 0 })).toBe("1:3,3:127,38:0");
  expect(listTerminalModes({})).toBe("");
});
