import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Reader, string, u8, u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { type Attributes, kindOf, readAttributes, writeAttributes } from "./attributes.ts";
import { maxPacket, messageNumbers, statusNumbers } from "./numbers.ts";
import { framed, PacketBuffer } from "./packet-buffer.ts";
import { decodeInit, decodeRequest, encodeInit, encodeRequest, type Request } from "./request.ts";
import { decodeResponse, decodeVersion, encodeResponse, encodeVersion, type Response } from "./response.ts";

const u32s = fc.nat(0xffff_ffff);
const u64s = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const attributes: fc.Arbitrary<Attributes> = fc.record(
  { size: u64s, owner: fc.record({ uid: u32s, gid: u32s }), mode: u32s, times: fc.record({ accessed: u32s, modified: u32s }) },
  { requiredKeys: [] },
);
const id = u32s;
const requests: fc.Arbitrary<Exclude<Request, { type: "unknown" }>> = fc.oneof(
  fc.record({ type: fc.constant("open" as const), id, path: bytes, flags: u32s, attributes }),
  fc.record({ type: fc.constant("read" as const), id, handle: bytes, offset: u64s, length: u32s }),
  fc.record({ type: fc.constant("write" as const), id, handle: bytes, offset: u64s, data: bytes }),
  fc.record({ type: fc.constantFrom("close" as const, "fstat" as const, "readdir" as const), id, handle: bytes }),
  fc.record({
    type: fc.constantFrom("lstat" as const, "stat", "opendir", "remove", "rmdir", "realpath", "readlink"),
    id,
    path: bytes,
  }),
  fc.record({ type: fc.constantFrom("setstat" as const, "mkdir" as const), id, path: bytes, attributes }),
  fc.record({ type: fc.constant("fsetstat" as const), id, handle: bytes, attributes }),
  fc.record({ type: fc.constant("rename" as const), id, path: bytes, target: bytes }),
  fc.record({ type: fc.constant("symlink" as const), id, target: bytes, path: bytes }),
  fc.record({ type: fc.constant("extended" as const), id, name: fc.constantFrom("copy-data", "x@y"), data: bytes }),
);
const files = fc.array(fc.record({ name: bytes, longName: bytes, attributes }), { maxLength: 5 });
const responses: fc.Arbitrary<Response> = fc.oneof(
  fc.record({
    type: fc.constant("status" as const),
    id,
    status: fc.constantFrom(...(Object.keys(statusNumbers) as (keyof typeof statusNumbers)[])),
    message: fc.constantFrom("", "No such file"),
  }),
  fc.record({ type: fc.constant("handle" as const), id, handle: bytes }),
  fc.record({ type: fc.constant("data" as const), id, data: bytes }),
  fc.record({ type: fc.constant("name" as const), id, files }),
  fc.record({ type: fc.constant("attributes" as const), id, attributes }),
  fc.record({ type: fc.constant("extended_reply" as const), id, data: bytes }),
);

/** Feeds a stream in pieces and gives all packets, copied. */
function packetsOf(stream: Buffer, pieces: readonly number[]): Buffer[] {
  const buffer = new PacketBuffer();
  const found: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < stream.length; index += 1) {
    const room = buffer.room();
    const count = Math.min(room.length, stream.length - at, pieces[index % pieces.length] ?? 1);
    stream.copy(room, 0, at, at + count);
    buffer.filled(count);
    at += count;
    for (let packet = buffer.next(); packet !== undefined; packet = buffer.next()) found.push(Buffer.from(packet));
  }
  return found;
}

describe("the SFTP codec", () => {
  test("a request survives encoding", () => {
    fc.assert(fc.property(requests, (request) => void expect(decodeRequest(encodeRequest(request).subarray(4))).toEqual(request)));
  });

  test("a response survives encoding", () => {
    fc.assert(fc.property(responses, (response) => void expect(decodeResponse(encodeResponse(response).subarray(4))).toEqual(response)));
  });

  test("init and version survive encoding", () => {
    const extensions = new Map([["posix-rename@openssh.com", "1"]]);
    expect(decodeInit(encodeInit(3).subarray(4))).toBe(3);
    expect(decodeInit(encodeRequest({ type: "stat", id: 1, path: Buffer.from("/") }).subarray(4))).toBeUndefined();
    expect(decodeVersion(encodeVersion(extensions).subarray(4))).toEqual(extensions);
    expect(() => decodeVersion(Buffer.concat([u8(messageNumbers.version), u32(6)]))).toThrow(/version 6/);
  });

  test("a stream gives the same packets however it is cut", () => {
    fc.assert(
      fc.property(fc.array(requests, { minLength: 1, maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1 }), (all, pieces) => {
        const packets = packetsOf(Buffer.concat(all.map(encodeRequest)), pieces);
        expect(packets.map(decodeRequest)).toEqual(all);
      }),
    );
  });

  test("packets of maximum length pass one after the other, however they are cut", () => {
    const packet = framed([Buffer.alloc(maxPacket, 7)]);
    for (const piece of [maxPacket * 2, 100_000, 32_768]) {
      expect(packetsOf(Buffer.concat([packet, packet, packet]), [piece]).map(({ length }) => length)).toEqual([maxPacket, maxPacket, maxPacket]);
    }
  });

  test.for([0, maxPacket + 1, 0xffff_ffff])("a length of %i is refused before any memory is used for it", (length) => {
    expect(() => packetsOf(u32(length), [4])).toThrow(PlatformError);
  });

  test("any bytes are a message or a refusal", () => {
    const decoders = [decodeRequest, decodeResponse, decodeInit, decodeVersion];
    fc.assert(
      fc.property(fc.nat(255), fc.uint8Array({ maxLength: 80 }), fc.constantFrom(...decoders), (number, rest, decode) => {
        try {
          decode(Buffer.concat([u8(number), Buffer.from(rest)]));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      }),
    );
  });

  test("a damaged message is a message or a refusal", () => {
    fc.assert(
      fc.property(
        fc.oneof(requests.map(encodeRequest), responses.map(encodeResponse)),
        fc.nat(),
        fc.nat(255),
        fc.nat(200),
        (packet, at, value, cut) => {
          const damaged = Buffer.from(packet.subarray(4));
          damaged[at % damaged.length] = value;
          for (const decode of [decodeRequest, decodeResponse]) {
            try {
              decode(damaged.subarray(0, damaged.length - (cut % damaged.length)));
            } catch (thrown) {
              expect(thrown).toBeInstanceOf(PlatformError);
            }
          }
        },
      ),
    );
  });

  test("an unknown type keeps its id, so that it can be answered", () => {
    expect(decodeRequest(Buffer.concat([u8(99), u32(5)]))).toEqual({ type: "unknown", id: 5, number: 99 });
  });

  test("extended attributes are skipped, and a wrong count is refused", () => {
    const pair = Buffer.concat([string("type"), string("data")]);
    const read = (count: number): Attributes => readAttributes(new Reader(Buffer.concat([u32(0x8000_0004), u32(0o644), u32(count), pair])));
    expect(read(1)).toEqual({ mode: 0o644 });
    expect(() => read(0xffff_ffff)).toThrow(PlatformError);
    expect(() => read(2)).toThrow(PlatformError);
    expect(writeAttributes({})).toEqual(u32(0));
  });

  test("a list of names with a wrong count is refused", () => {
    expect(() => decodeResponse(Buffer.concat([u8(messageNumbers.name), u32(1), u32(0xffff_ffff)]))).toThrow(PlatformError);
  });

  test("kinds of file", () => {
    expect([0o100_644, 0o040_755, 0o120_777, 0o010_644, 0o644].map((mode) => kindOf({ mode }))).toEqual([
      "regular",
      "folder",
      "link",
      "special",
      "unknown",
    ]);
    expect(kindOf({})).toBe("unknown");
  });
});
