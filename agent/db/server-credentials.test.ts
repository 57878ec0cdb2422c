import { createPrivateKey, createPublicKey } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { ServerCredentials, ServerCredentialsAsk } from "./database.ts";
import { issueCredentials, KeptCredentials, openCredentials } from "./server-credentials.ts";

const ask: ServerCredentialsAsk = {
  database: "orders",
  account: "reader",
  certificate: Buffer.from("alice"),
  proof: Buffer.from("signed"),
  clientAddress: "192.0.2.7:40000",
};

test("the key stays here: the auth service gets its public half, and the user's certificate", async () => {
  const requests: { readonly tlsPublicKey: string }[] = [];
  const signDatabaseClient = async (request: { readonly tlsPublicKey: string }) => {
    requests.push(request);
    return { tlsCertificate: "certificate", dbCaPem: ["ca"] } as never;
  };
  const { privateKey, ...rest } = await issueCredentials({ signDatabaseClient } as never, ask);
  expect(rest).toEqual({ certificate: "certificate", authorities: ["ca"] });
  const { certificate: userCertificate, ...facts } = ask;
  const tlsPublicKey = createPublicKey(createPrivateKey(privateKey)).export({ type: "spki", format: "pem" });
  expect(requests).toEqual([{ ...facts, asAdmin: false, userCertificate, tlsPublicKey }]);
});

test("a change of locks, roles or authorities ends what was signed before it", async () => {
  let signed = 0;
  let change: () => void = () => {};
  const signDatabaseClient = async () => ({ tlsCertificate: `certificate ${++signed}`, dbCaPem: [] });
  const follow = (listener: () => void): void => {
    change = listener;
  };
  const get = openCredentials({ auth: async () => ({ signDatabaseClient }), access: { follow } } as never, new AbortController().signal);
  for (let round = 0; round < 3; round += 1) expect((await get(ask)).certificate).toBe("certificate 1");
  change();
  for (let round = 0; round < 3; round += 1) expect((await get(ask)).certificate).toBe("certificate 2");
});

describe("kept credentials", () => {
  let issued: ServerCredentialsAsk[];
  let answer: () => Promise<unknown>;
  beforeEach(() => {
    vi.useFakeTimers();
    issued = [];
    answer = async () => undefined;
  });
  afterEach(() => void vi.useRealTimers());

  function kept(options?: { readonly most: number }): KeptCredentials {
    const issue = async (one: ServerCredentialsAsk): Promise<ServerCredentials> => {
      issued.push(one);
      const number = issued.length;
      await answer();
      return { certificate: `certificate ${number}`, privateKey: "key", authorities: [] };
    };
    return new KeptCredentials(issue, options);
  }

  test("a pool of 20 connections that begin together costs one signature", async () => {
    const store = kept();
    const all = await Promise.all(
      Array.from({ length: 20 }, (_one, n) => store.get({ ...ask, proof: Buffer.of(n), clientAddress: `192.0.2.7:${40_000 + n}` })),
    );
    expect(new Set(all.map(({ certificate }) => certificate))).toEqual(new Set(["certificate 1"]));
    expect(issued).toHaveLength(1);
  });

  test.for<[string, Partial<ServerCredentialsAsk>]>([
    ["another user", { certificate: Buffer.from("bob") }],
    ["another certificate of the same user", { certificate: Buffer.from("alice, renewed") }],
    ["another database", { database: "billing" }],
    ["another account", { account: "writer" }],
    ["the same user at another address", { clientAddress: "192.0.2.8:40000" }],
    ["texts that are the same once joined", { database: 'orders","reader', account: "" }],
  ])("are not for %s", async ([, other]) => {
    const store = kept();
    await store.get(ask);
    await store.get({ ...ask, ...other });
    expect(issued).toHaveLength(2);
  });

  test("are dropped after a minute, however often they are used", async () => {
    const store = kept();
    for (let second = 0; second < 60; second += 1) {
      await store.get(ask);
      vi.advanceTimersByTime(1_000);
    }
    expect(issued).toHaveLength(1);
    await store.get(ask);
    expect(issued).toHaveLength(2);
  });

  test("are dropped when rules or locks change; what was under way then is not kept", async () => {
    const store = kept();
    await store.get(ask);
    store.clear();
    const gate = Promise.withResolvers<void>();
    answer = () => gate.promise;
    const slow = store.get(ask);
    store.clear();
    gate.resolve();
    expect((await slow).certificate).toBe("certificate 2");
    expect((await store.get(ask)).certificate).toBe("certificate 3");
    expect((await store.get(ask)).certificate).toBe("certificate 3");
  });

  test("a refusal is not kept, and reaches all that waited for it", async () => {
    const store = kept();
    const refusal = new PlatformError("denied", "access denied");
    answer = () => Promise.reject(refusal);
    const both = await Promise.allSettled([store.get(ask), store.get(ask)]);
    expect(both).toMatchObject([{ reason: refusal }, { reason: refusal }]);
    expect(issued).toHaveLength(1);
    answer = async () => undefined;
    await expect(store.get(ask)).resolves.toMatchObject({ certificate: "certificate 2" });
  });

  test("are bounded: the oldest goes first", async () => {
    const store = kept({ most: 2 });
    for (const account of ["a", "b", "c"]) await store.get({ ...ask, account });
    await store.get({ ...ask, account: "c" });
    await store.get({ ...ask, account: "b" });
    expect(issued).toHaveLength(3);
    await store.get({ ...ask, account: "a" });
    expect(issued).toHaveLength(4);
    expect(vi.getTimerCount()).toBe(2);
  });
});
