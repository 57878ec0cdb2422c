import { beforeEach, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { TokenFacts } from "./app-deps.ts";
import { tokenSigner } from "./token-signer.ts";

const facts: TokenFacts = {
  app: "wiki",
  uri: "http://127.0.0.1:8080",
  userCertificate: Buffer.from("ann"),
  clientAddress: "192.0.2.7:40000",
  claims: "roles",
};

describe("tokens of an agent", () => {
  let asked: object[];
  let time: number;
  let refusal: PlatformError | undefined;
  let change: () => void;
  let sign: ReturnType<typeof tokenSigner>;

  beforeEach(() => {
    asked = [];
    time = 0;
    refusal = undefined;
    change = () => {};
    const signAppToken = async (request: object) => {
      asked.push(request);
      await Promise.resolve();
      if (refusal !== undefined) throw refusal;
      return { token: `token ${asked.length}`, expires: new Date(time + 300_000).toISOString() };
    };
    const access = {
      follow: (listener: () => void) => {
        change = listener;
      },
    };
    const deps = { auth: async () => ({ signAppToken }), access, now: () => new Date(time) };
    sign = tokenSigner(deps as never, new AbortController().signal);
  });

  test("the auth service gets the facts as they are", async () => {
    expect(await sign(facts)).toEqual({ token: "token 1", expires: new Date(300_000) });
    expect(asked).toEqual([facts]);
  });

  test("connections of a user share one, also while it is being signed, for half of its validity", async () => {
    const [one, other] = await Promise.all([sign(facts), sign({ ...facts, clientAddress: "192.0.2.7:40001" })]);
    expect([one.token, other.token]).toEqual(["token 1", "token 1"]);
    time = 149_000;
    expect((await sign(facts)).token).toBe("token 1");
    time = 150_000;
    expect(await sign(facts)).toEqual({ token: "token 2", expires: new Date(450_000) });
  });

  test.for<readonly [what: string, change: Partial<TokenFacts>]>([
    ["user", { userCertificate: Buffer.from("bob") }],
    ["application", { app: "hr" }],
    ["audience", { uri: "http://127.0.0.1:8081" }],
    ["address", { clientAddress: "192.0.2.8:40000" }],
    ["choice of claims", { claims: "none" }],
  ])("another %s has a token of its own", async ([, other]) => {
    await sign(facts);
    expect((await sign({ ...facts, ...other })).token).toBe("token 2");
  });

  test("a change of roles, locks or authorities ends what was signed before it", async () => {
    await sign(facts);
    change();
    expect((await sign(facts)).token).toBe("token 2");
  });

  test("a failure is not kept", async () => {
    refusal = new PlatformError("denied", "no");
    await expect(sign(facts)).rejects.toBe(refusal);
    refusal = undefined;
    expect((await sign(facts)).token).toBe("token 2");
  });

  test("only so many are kept", async () => {
    for (let number = 0; number <= 1_000; number += 1) await sign({ ...facts, app: `app-${number}` });
    expect((await sign({ ...facts, app: "app-1000" })).token).toBe("token 1001");
    expect((await sign({ ...facts, app: "app-0" })).token).toBe("token 1002");
  });
});
