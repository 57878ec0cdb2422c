import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { createTestAuthority, past, type TestAuthority } from "../../core/transport/dial/testing/test-certificate.ts";
import { listenTcp, onRequest, type TestServer } from "../../core/transport/dial/testing/test-server.ts";
import { askEndpoint, failedAnswer } from "./endpoint.ts";

/* Real TLS servers on 127.0.0.1. */

let authority: TestAuthority;
const servers: TestServer[] = [];
beforeAll(async () => {
  authority = await createTestAuthority();
});
afterAll(() => {
  for (const server of servers) server.close();
});

interface Served {
  readonly answers?: Readonly<Record<string, string>>;
  readonly validity?: { notBefore: Date; notAfter: Date };
  readonly raw?: string;
}

async function serve({ answers = {}, validity, raw }: Served): Promise<{ server: TestServer; asked: string[] }> {
  const asked: string[] = [];
  const { cert, key } = await authority.issue({ type: "ip", value: "127.0.0.1" }, validity);
  const server = await listenTcp(
    (socket) => {
      onRequest(socket, (header) => {
        const path = header.split(" ")[1] ?? "";
        asked.push(path);
        const body = answers[path.split("?")[0] ?? ""];
        const status = body === undefined ? "404 Not Found" : "200 OK";
        socket.end(raw ?? `HTTP/1.1 ${status}\r\nContent-Length: ${body?.length ?? 0}\r\nPlatform-Upgrade-Stale: 7\r\n\r\n${body ?? ""}`);
      });
    },
    { cert, key },
  );
  servers.push(server);
  return { server, asked };
}

const place = (server: TestServer) => ({ host: server.host, port: server.port, path: "/channel/default", channel: "default" });
const options = () => ({ env: {}, signal: new AbortController().signal, ca: authority.cert, timeoutMs: 5000 });

test.for([
  [new PlatformError("unauthenticated", "407"), "endpoint_unreachable"],
  [new PlatformError("unauthenticated", "the certificate", { cause: new Error("CERT_HAS_EXPIRED") }), "certificate_wrong"],
  [new PlatformError("invalid", "the ca is not usable"), "not_configured"],
  [new PlatformError("limit", "too long"), "version_nonsense"],
  [new PlatformError("timeout", "slow", { hint: "wait" }), "endpoint_unreachable"],
  [new Error("bug"), "internal"],
] as const)("%s means %s", ([thrown, reason]) => {
  expect(failedAnswer(thrown)).toMatchObject({ kind: "failed", reason, detail: expect.stringContaining(thrown.message) });
});

describe("askEndpoint", () => {
  test("asks for the version and for its urgency, for this host", async () => {
    const { server, asked } = await serve({ answers: { "/channel/default/version": "v1.2.3", "/channel/default/critical": "yes" } });
    expect(await askEndpoint(place(server), { ...options(), hostId: "a b&c" })).toEqual({
      kind: "version",
      version: "1.2.3",
      critical: true,
      staleSeconds: 7,
    });
    expect(asked).toEqual(["/channel/default/version?host=a%20b%26c", "/channel/default/critical?host=a%20b%26c"]);
  });

  test("a version with unknown urgency is not urgent", async () => {
    const { server, asked } = await serve({ answers: { "/channel/default/version": "v1.2.3" } });
    expect(await askEndpoint(place(server), options())).toMatchObject({ version: "1.2.3", critical: false });
    expect(asked).toEqual(["/channel/default/version", "/channel/default/critical"]);
  });

  test("without a version, its urgency is not requested", async () => {
    const { server, asked } = await serve({ answers: { "/channel/default/version": "none" } });
    expect(await askEndpoint(place(server), options())).toEqual({ kind: "none" });
    expect(asked).toHaveLength(1);
  });

  test("an untrusted authority and an expired certificate are wrong certificates", async () => {
    const { server } = await serve({});
    expect(await askEndpoint(place(server), { ...options(), ca: undefined })).toMatchObject({ kind: "failed", reason: "certificate_wrong" });
    const { server: old } = await serve({ validity: past() });
    expect(await askEndpoint(place(old), options())).toMatchObject({ reason: "certificate_wrong", detail: expect.stringContaining("has expired") });
  });

  test("an endless page is nonsense, and is not read to its end", async () => {
    const { server } = await serve({ raw: `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${"<p>".repeat(100_000)}` });
    expect(await askEndpoint(place(server), options())).toMatchObject({ reason: "version_nonsense" });
  });

  test("a missing peer, a peer without HTTP, and a silent peer are unreachable", async () => {
    const { server } = await serve({ raw: "SSH-2.0-x\r\n" });
    expect(await askEndpoint(place(server), options())).toMatchObject({ reason: "endpoint_unreachable" });
    const silent = await listenTcp(() => {});
    servers.push(silent);
    expect(await askEndpoint(place(silent), { ...options(), timeoutMs: 50 })).toMatchObject({ reason: "endpoint_unreachable" });
    server.close();
    expect(await askEndpoint(place(server), options())).toMatchObject({ reason: "endpoint_unreachable" });
  });

  test("an invalid proxy variable is a wrong setting", async () => {
    const endpoint = { host: "proxy.invalid", port: 443, path: "", channel: "" };
    expect(await askEndpoint(endpoint, { ...options(), env: { HTTPS_PROXY: "socks5://x" } })).toMatchObject({ reason: "not_configured" });
  });

  test("ends with the signal", async () => {
    const silent = await listenTcp(() => {});
    servers.push(silent);
    const stop = new AbortController();
    const asking = askEndpoint(place(silent), { ...options(), signal: stop.signal });
    stop.abort(new Error("stop"));
    await expect(asking).rejects.toThrow("stop");
  });
});
