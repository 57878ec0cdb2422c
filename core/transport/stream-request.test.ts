import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { string, u8, u32 } from "../bytes/fields.ts";
import { errorCodes, PlatformError } from "../errors/platform-error.ts";
import {
  decodeStreamReply,
  decodeStreamRequest,
  encodeStreamReply,
  encodeStreamRequest,
  maxStreamMessage,
  type StreamRequest,
} from "./stream-request.ts";

const text = fc.string({ unit: "grapheme", maxLength: 200 }).filter((value) => value.isWellFormed());
const common = { target: text, clientAddress: text, sessionId: text, accessRevision: text };
const requests: fc.Arbitrary<StreamRequest> = fc.oneof(
  fc.record({ kind: fc.constant("ssh" as const), parameters: fc.record({ login: text }), ...common }),
  fc.record({ kind: fc.constant("join" as const), parameters: fc.record({ mode: text }), ...common }),
  fc.record({ kind: fc.constant("app" as const), parameters: fc.record({ port: text }, { requiredKeys: [] }), ...common }),
  fc.record({
    kind: fc.constant("db" as const),
    parameters: fc.record({ user: text, name: text, host: text, at: text, member: text }, { requiredKeys: ["user", "name", "host", "at"] }),
    ...common,
  }),
);
const example: StreamRequest = {
  kind: "ssh",
  target: "db-1",
  parameters: { login: "root" },
  clientAddress: "10.0.0.1:5",
  sessionId: "s",
  accessRevision: "7",
};

function version2(kind: number, parameters: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat([u8(2), u8(kind), string("t"), u8(parameters.length), ...parameters.flat().map(string), ...Array(3).fill(string(""))]);
}

function code(act: () => unknown): string {
  try {
    act();
    return "none";
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown.code;
    throw thrown;
  }
}

describe("StreamRequest", () => {
  test("is these bytes", () => {
    const parts = [u8(1), u8(1), ...["db-1", "root", "10.0.0.1:5", "s", "7"].map(string)];
    const body = Buffer.concat(parts);
    expect(encodeStreamRequest(example)).toEqual(Buffer.concat([u32(body.length), body]));
    const second = [u8(2), u8(3), string("db-1"), u8(0), ...["10.0.0.1:5", "s", "7"].map(string)];
    expect(encodeStreamRequest({ ...example, kind: "app", parameters: {} }).subarray(4)).toEqual(Buffer.concat(second));
    second[3] = Buffer.concat([u8(1), string("port"), string("5432")]);
    expect(encodeStreamRequest({ ...example, kind: "app", parameters: { port: "5432" } }).subarray(4)).toEqual(Buffer.concat(second));
  });

  test("every request survives encoding", () => {
    fc.assert(
      fc.property(requests, (request) => {
        expect(decodeStreamRequest(encodeStreamRequest(request).subarray(4))).toEqual(request);
      }),
    );
  });

  test.for<readonly [name: string, body: () => Buffer, expected: string]>([
    ["nothing", () => Buffer.alloc(0), "invalid"],
    ["another version", () => Buffer.concat([u8(2), encodeStreamRequest(example).subarray(5)]), "unsupported"],
    ["version 2 of a kind that has version 1", () => version2(1, [["login", "root"]]), "unsupported"],
    ["version 1 of a kind that has version 2", () => Buffer.concat([u8(1), u8(3), ...Array(5).fill(string(""))]), "unsupported"],
    ["an unknown parameter", () => version2(3, [["login", "root"]]), "unsupported"],
    [
      "a parameter that is missing beside an optional one",
      () =>
        version2(
          4,
          ["user", "name", "host", "member"].map((name) => [name, ""]),
        ),
      "invalid",
    ],
    [
      "a parameter twice",
      () =>
        version2(
          4,
          ["user", "name", "host", "at", "at"].map((name) => [name, ""]),
        ),
      "invalid",
    ],
    ["an unknown kind", () => Buffer.concat([u8(1), u8(9), encodeStreamRequest(example).subarray(6)]), "unsupported"],
    ["a byte too many", () => Buffer.concat([encodeStreamRequest(example).subarray(4), u8(0)]), "invalid"],
    ["a byte too few", () => encodeStreamRequest(example).subarray(4, -1), "invalid"],
    ["text that is not UTF-8", () => Buffer.concat([u8(1), u8(1), string(Buffer.of(0xff)), ...Array(4).fill(string(""))]), "invalid"],
    ["a wrong length", () => Buffer.concat([u8(1), u8(1), u32(0xffff_ffff)]), "invalid"],
  ])("%s is refused", ([, body, expected]) => {
    expect(code(() => decodeStreamRequest(body()))).toBe(expected);
  });

  test("a request that is too long is refused by its sender", () => {
    expect(code(() => encodeStreamRequest({ ...example, target: "x".repeat(maxStreamMessage) }))).toBe("invalid");
  });

  test("any bytes are decoded or refused with a PlatformError", () => {
    const damaged = fc.tuple(requests, fc.nat(400), fc.nat(255)).map(([request, at, byte]) => {
      const body = Buffer.from(encodeStreamRequest(request).subarray(4));
      body[at % body.length] = byte;
      return body;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }).map(Buffer.from), damaged), (body) => {
        code(() => decodeStreamRequest(Buffer.from(body)));
        code(() => decodeStreamReply(Buffer.from(body)));
      }),
    );
  });
});

describe("StreamReply", () => {
  test("ok and every error come through", () => {
    expect(decodeStreamReply(encodeStreamReply({ ok: true }).subarray(4))).toEqual({ ok: true });
    fc.assert(
      fc.property(fc.constantFrom(...errorCodes), text, text, (errorCode, message, hint) => {
        const reply = decodeStreamReply(encodeStreamReply({ ok: false, error: new PlatformError(errorCode, message, { hint }) }).subarray(4));
        expect(reply).toMatchObject({ ok: false, error: { code: errorCode, message, hint: hint === "" ? undefined : hint } });
      }),
    );
  });

  test("a code of a newer peer becomes internal", () => {
    const reply = decodeStreamReply(Buffer.concat([u8(1), string("brand_new"), string("m"), string("")]));
    expect(reply).toMatchObject({ ok: false, error: { code: "internal", message: "m" } });
  });

  test("a very long message is truncated, so that it always fits", () => {
    const bytes = encodeStreamReply({ ok: false, error: new PlatformError("denied", "€".repeat(50_000), { hint: "€".repeat(50_000) }) });
    expect(bytes.length).toBeLessThanOrEqual(maxStreamMessage + 4);
    expect(decodeStreamReply(bytes.subarray(4))).toMatchObject({ ok: false, error: { code: "denied" } });
  });
});
