import fc from "fast-check";
import { expect, test } from "vitest";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { lacking, negotiate, offeredFor } from "./capabilities.ts";

const stripped = capability.compress | capability.localFiles | capability.ssl | capability.optionalMetadata | capability.zstd;
const bits = fc.nat(2 ** 32 - 1);
const both = fc.record({ flags: bits, extended: bits });

test("compression, files, TLS, further factors and unknown bits are never part of a session", () => {
  fc.assert(
    fc.property(both, both, (client, server) => {
      const session = negotiate(client, offeredFor(server));
      expect(session.flags & (stripped | 0xf000_0000)).toBe(0);
      expect(session.extended & ~0b11_1101).toBe(0);
      expect(session.flags & ~capability.mysql & ~client.flags).toBe(0);
      expect(lacking(server, session)).toBe(false);
    }),
  );
});

test("a client of MySQL has no extended bits at a server of MariaDB", () => {
  const offered = offeredFor({ flags: 0x81ff_fffe, extended: 0x1d });
  expect(negotiate({ flags: 0x19bf_a285, extended: 0xff }, offered)).toEqual({ flags: 0x01bf_a205, extended: 0 });
  expect(negotiate({ flags: 0xbfaa_84, extended: 0x1c }, offered).extended).toBe(0x1c);
});

test("a bit that is set and was not offered is not used", () => {
  const offered = offeredFor({ flags: 0xffff_ffff & ~capability.queryAttributes, extended: 0 });
  expect(negotiate({ flags: 0xffff_ffff, extended: 0 }, offered).flags & capability.queryAttributes).toBe(0);
});

test("a server that lacks what the session has is found", () => {
  expect(lacking({ flags: 0, extended: 0 }, { flags: capability.deprecateEof, extended: 0 })).toBe(true);
  expect(lacking({ flags: capability.deprecateEof, extended: 0 }, { flags: capability.deprecateEof | capability.mysql, extended: 0 })).toBe(false);
  expect(lacking({ flags: 0, extended: 0 }, { flags: 0, extended: 8 })).toBe(true);
});
