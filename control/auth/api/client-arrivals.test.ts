import { duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { connectAuthTls, openAuthClient } from "../../../core/api/auth-client.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { encodeRelayHeader } from "../../../core/transport/relay-header.ts";
import { openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../../test/inside/user-keys.ts";

describe("clients relayed by a proxy", () => {
  interface Credentials {
    readonly certificate: string;
    readonly privateKey: string;
  }

  /** What a proxy on another host opens for each of its clients. */
  async function relayed(t: TestAuth, credentials: Credentials | undefined, clientAddress: string) {
    const open = async () => {
      const [near, far] = duplexPair();
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
      t.auth.inject(far, "198.51.100.1");
      return near;
    };
    const tls = await connectAuthTls({ open, ca: [t.auth.hostCaPem], ...(credentials && { credentials }) }, [alpn.authRelay]);
    tls.on("error", () => {}).write(encodeRelayHeader({ clientAddress }));
    return tls;
  }

  test("a client's address is the one that a proxy tells, in limits and in the audit log", async () => {
    await using t = await openTestAuth();
    const { tlsCertificate: certificate, tlsPrivateKey: privateKey } = await t.auth.issueProxy(["proxy.test"]);
    using connection = openAuthClient({ open: () => relayed(t, { certificate, privateKey }, "192.0.2.99:1234"), ca: [t.auth.hostCaPem] });
    await expect(connection.client.login({ user: "nobody", password: "x", code: "000000", ...publicKeys(generateKeys()) })).rejects.toMatchObject({
      code: "unauthenticated",
    });
    expect(await t.events("user.login")).toMatchObject([{ "addr.remote": "192.0.2.99:1234" }]);
  });

  test("nobody else can tell an address: the connection ends", async () => {
    await using t = await openTestAuth();
    const tls = await relayed(t, undefined, "192.0.2.99:1234");
    await new Promise<void>((resolve) => tls.once("close", () => resolve()).resume());
    expect(t.logLines.some((line) => line.includes("only proxies may relay clients"))).toBe(true);
  });
});
