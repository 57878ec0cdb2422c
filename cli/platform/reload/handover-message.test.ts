import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { decodeFromNew, decodeFromOld, encodeMessage, type FromNew, type FromOld } from "./handover-message.ts";

test.for<FromOld>([
  { type: "offer", pid: 7, sockets: [{ name: "web 0.0.0.0 443", fd: 5, port: 443 }] },
  { type: "offer", pid: 7, sockets: [], announces: true },
  { type: "announced" },
  { type: "takeOver", hosts: [{ id: "a", names: ["b", "c"] }] },
  { type: "abandon" },
  { type: "reload" },
])("the old process's message is read as it was written: %o", (message) => {
  expect(decodeFromOld(encodeMessage(message).trimEnd())).toEqual(message);
});

test.for<FromNew>([{ type: "state", pid: 8, version: "1.1.0", ready: true }, { type: "failed", error: "no" }, { type: "taken" }, { type: "stop" }])(
  "the new process's message is read as it was written: %o",
  (message) => {
    expect(decodeFromNew(encodeMessage(message).trimEnd())).toEqual(message);
  },
);

test("messages and fields of a later version are left alone", () => {
  expect(decodeFromOld('{"type":"somersault","height":3}')).toBeUndefined();
  expect(decodeFromNew('{"type":"taken","at":3}')).toEqual({ type: "taken" });
});

test.for(["", "nonsense", "[]", "{}", '{"type":"state"}', '{"type":"offer","pid":1,"sockets":[{"name":"a","fd":1,"port":1}]}'])(
  "%j is refused",
  (line) => {
    expect(() => decodeFromOld(line) ?? decodeFromNew(line)).toThrow(PlatformError);
  },
);

test("whatever comes, only a PlatformError is thrown", () => {
  const json = fc.oneof(
    fc.json(),
    fc.string(),
    fc.record({ type: fc.constantFrom("offer", "state", "takeOver", "x"), pid: fc.anything() }).map((value) => JSON.stringify(value) ?? ""),
  );
  fc.assert(
    fc.property(json, (line) => {
      for (const decode of [decodeFromOld, decodeFromNew]) {
        try {
          decode(line);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      }
    }),
  );
});
