import { expect, test } from "vitest";
import { connectAuthTls } from "../../core/api/auth-client.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { Attempt } from "../../core/transport/dial/attempt.ts";
import { dial, dialRoute, dialTls } from "../../core/transport/dial/dial.ts";
import { createTestAuthority } from "../../core/transport/dial/testing/test-certificate.ts";
import { listenTcp } from "../../core/transport/dial/testing/test-server.ts";
import { otherAuthority } from "./reach-cluster.ts";

const proxy = { host: "proxy.example.com", port: 443 };
const tls = (code: string) => new PlatformError("unavailable", "no TLS", { cause: Object.assign(new Error("x"), { code }) });

test.for(["SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "CERT_SIGNATURE_FAILURE"])(
  "%s after an earlier login asks for the pin",
  (code) => {
    expect(otherAuthority(tls(code), proxy)).toMatchObject({ code: "unauthenticated", hint: expect.stringMatching(/--ca-pin/) });
  },
);

test("other failures stay what they are", () => {
  const refused = tls("ECONNREFUSED");
  expect(otherAuthority(refused, proxy)).toBe(refused);
  expect(otherAuthority("text", proxy)).toBe("text");
});

test("an HTTPS proxy that is not trusted is named, and what it says of itself is not taken for the cluster's", async () => {
  const leaf = await (await createTestAuthority()).issue({ type: "ip", value: "127.0.0.1" });
  const server = await listenTcp(() => {}, leaf);
  const url = { scheme: "https", host: server.host, port: server.port, variable: "HTTPS_PROXY" } as const;
  using attempt = new Attempt({});
  const thrown = await dialRoute(proxy, { kind: "proxy", url, why: "" }, { attempt, proxyCa: [] }).catch((error: unknown) => error);
  expect(thrown).toMatchObject({
    code: "unauthenticated",
    message: expect.stringMatching(/^the certificate of the proxy 127\.0\.0\.1:\d+ \(HTTPS_PROXY, /),
  });
  expect(otherAuthority(thrown, proxy)).toBe(thrown);
  server.close();
});

test("who issued the certificate that does not fit is said, without advice for programmers", async () => {
  const leaf = await (await createTestAuthority()).issue({ type: "ip", value: "127.0.0.1" });
  const server = await listenTcp(() => {}, leaf);
  const tlsOptions = { alpn: ["h2"], servername: "127.0.0.1", ca: [(await createTestAuthority()).cert] };
  const thrown = await dialTls({ host: server.host, port: server.port }, tlsOptions, { env: {} }).catch((error: unknown) => error);
  expect(otherAuthority(thrown, proxy)).toMatchObject({
    message: expect.stringMatching(/than at the last login \(it is issued by "test authority [0-9a-f-]+"\)$/),
  });
  expect(String((thrown as Error).cause)).not.toContain("Node.js");
  server.close();
});

test("the same on the way to the auth service", async () => {
  const leaf = await (await createTestAuthority()).issue({ type: "ip", value: "127.0.0.1" });
  const server = await listenTcp(() => {}, leaf);
  const ca = [(await createTestAuthority()).cert];
  const thrown = await connectAuthTls({ open: () => dial({ host: server.host, port: server.port }, { env: {} }), ca }).catch(
    (error: unknown) => error,
  );
  expect(thrown).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /^no TLS connection to the auth service: the certificate of the auth service .*issued by "test authority [0-9a-f-]+"\)$/,
    ),
    hint: expect.stringContaining("inspects TLS"),
  });
  expect(String((thrown as Error).cause)).not.toContain("Node.js");
  expect(otherAuthority(thrown, proxy)).toMatchObject({ code: "unauthenticated", message: expect.stringContaining("issued by") });
  server.close();
});
