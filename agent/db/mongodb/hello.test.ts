import { type Document, deserialize, Long, ObjectId, serialize } from "bson";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toPlatformError } from "../../../core/errors/platform-error.ts";
import { clientAnswer, firstHello, memberFacts, ownAnswer, replicaIdentity, userAgentOf } from "./hello.ts";

const bytes = (document: Document): Buffer => Buffer.from(serialize(document));
const member = {
  isWritablePrimary: true,
  secondary: false,
  setName: "rs0",
  setVersion: 3,
  hosts: ["m1.internal:27017", "m2.internal:27017"],
  passives: ["m3.internal:27017"],
  primary: "m1.internal:27017",
  me: "m1.internal:27017",
  topologyVersion: { counter: Long.fromNumber(6) },
  saslSupportedMechs: ["SCRAM-SHA-256"],
  ok: 1,
};

test("the first hello brings the client's description, and asks for an answer at once", () => {
  const hello = {
    isMaster: 1,
    client: { driver: { name: "x" } },
    compression: ["zlib"],
    speculativeAuthenticate: {},
    internalClient: {},
    maxAwaitTimeMS: 9,
    topologyVersion: {},
  };
  expect(deserialize(firstHello(bytes(hello)))).toEqual({ isMaster: 1, client: { driver: { name: "x" } } });
});

test.for<readonly [Document, string | undefined]>([
  [{ hello: 1, client: { application: { name: "reports" }, driver: { name: "nodejs", version: "7.9.0" } } }, "nodejs 7.9.0 (reports)"],
  [{ hello: 1, client: { driver: { name: "nodejs" } } }, "nodejs"],
  [{ hello: 1, client: { application: { name: "reports" } } }, "(reports)"],
  [{ hello: 1, client: { driver: "x", application: { name: 7 } } }, undefined],
  [{ hello: 1 }, undefined],
])("the user agent of %o is %s", ([hello, agent]) => {
  expect(userAgentOf(bytes(hello))).toBe(agent);
});

test("a member says what it is", () => {
  expect(memberFacts(bytes(member))).toMatchObject({ ok: true, setName: "rs0", isPrimary: true, isSecondary: false, primary: "m1.internal:27017" });
  expect(memberFacts(bytes({ ok: 0 }))).toMatchObject({ ok: false, setName: undefined, isPrimary: false, hosts: [] });
  expect(memberFacts(bytes({ hosts: Array.from({ length: 500 }, () => "a:1"), ok: 1 })).hosts).toHaveLength(50);
});

describe("a member's answer, as the client sees it", () => {
  test("has one member: the address that the client has dialled", () => {
    const address = "127.0.0.1:40000";
    const answer = deserialize(clientAnswer(bytes(member), address));
    expect(answer).toMatchObject({ setName: "rs0", setVersion: 3, hosts: [address], me: address, primary: address });
    expect(Object.keys(answer)).not.toContain("passives");
    expect(Object.keys(answer)).not.toContain("saslSupportedMechs");
    expect(JSON.stringify(answer)).not.toContain("internal");
  });

  test("of a secondary names no primary", () => {
    const answer = deserialize(clientAnswer(bytes({ ...member, isWritablePrimary: false, secondary: true }), "127.0.0.1:40000"));
    expect(answer).toMatchObject({ hosts: ["127.0.0.1:40000"], secondary: true });
    expect(Object.keys(answer)).not.toContain("primary");
  });

  test("is that of a single server when the address is not known", () => {
    const answer = deserialize(clientAnswer(bytes(member), undefined), { promoteLongs: false });
    expect(answer).toEqual({ isWritablePrimary: true, topologyVersion: { counter: Long.fromNumber(6) }, ok: 1 });
  });

  test("of a server outside any set stays as it is", () => {
    const answer = { isWritablePrimary: true, maxWireVersion: 21, ok: 1 };
    expect(clientAnswer(bytes(answer), "127.0.0.1:40000")).toEqual(bytes(answer));
  });
});

test("the agent's own answer is that of a server that can be written to, or of the set that the client knows", () => {
  expect(deserialize(ownAnswer(bytes({ hello: 1 }), { replica: {}, address: undefined }))).toMatchObject({ isWritablePrimary: true, ok: 1 });
  const electionId = new ObjectId();
  const replica = replicaIdentity(bytes({ ...member, electionId }));
  const answer = deserialize(ownAnswer(bytes({ isMaster: 1 }), { replica, address: "localhost:1" }));
  expect(answer).toMatchObject({ ismaster: true, setName: "rs0", setVersion: 3, electionId, hosts: ["localhost:1"], primary: "localhost:1" });
});

test("any bytes as a hello or as its answer are read, or malformed", () => {
  fc.assert(
    fc.property(fc.constantFrom("hosts", "setName", "client"), fc.uint8Array({ maxLength: 60 }), (name, some) => {
      const length = Buffer.alloc(4);
      const body = Buffer.concat([Buffer.from(serialize({ ok: 1, [name]: ["x"] })).subarray(4, -1), some, Buffer.of(0)]);
      length.writeInt32LE(body.length + 4);
      const document = Buffer.concat([length, body]);
      for (const read of [userAgentOf, firstHello, memberFacts, replicaIdentity, (one: Buffer) => clientAnswer(one, "localhost:1")]) {
        try {
          read(document);
        } catch (thrown) {
          expect(toPlatformError(thrown).code).toBe("invalid");
        }
      }
    }),
  );
});
