import { X509Certificate } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { expect, test, vi } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { alpn } from "../../../core/transport/alpn.ts";
import { listenTcp } from "../../../core/transport/dial/testing/test-server.ts";
import { encodeStreamReply } from "../../../core/transport/stream-request.ts";
import { insideAuthorities } from "../../../test/inside/authorities.ts";
import type { Call } from "../../command.ts";
import { memoryIo } from "../../memory-io.ts";
import { noOptions } from "../../no-options.ts";
import { loadProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import { saveProfile } from "../../profile/save-profile.ts";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { openAppTunnel } from "./app-tunnel.ts";

test("a new login while the port is open counts for the next connection", async () => {
  const own = await insideAuthorities();
  const { tlsCertificate: cert, tlsPrivateKey: key } = await own.host("proxy-1", { role: "proxy" });
  const shown: string[] = [];
  const refusal = new PlatformError("denied", "this proxy only looks at certificates");
  const tls = { cert, key, ca: own.userCaPem, requestCert: true, ALPNProtocols: [alpn.stream] };
  const proxy = await listenTcp((socket) => {
    shown.push((socket as TLSSocket).getPeerX509Certificate()?.serialNumber ?? "none");
    socket.end(encodeStreamReply({ ok: false, error: refusal }));
  }, tls);
  const home = await mkdtemp(join(tmpdir(), "platform-app-tunnel-"));
  const logIn = async (validUntil: Date): Promise<string> => {
    const { tlsCertificate, tlsPrivateKey } = await own.user("alice");
    const profile = profileOf({ proxy: { host: proxy.host, port: proxy.port }, cluster: own.cluster, validUntil, hostCaSsh: [own.hostCaSsh] });
    const secrets = { ...profile.secrets, tlsPrivateKey, tlsCertificate };
    await saveProfile(home, { ...profile, secrets, hostCaPem: [own.hostCaPem] }, "line");
    return new X509Certificate(tlsCertificate).serialNumber;
  };
  const io = memoryIo({ TSH_HOME: home });
  const call: Call = { io, args: [], options: noOptions };
  try {
    await logIn(new Date(Date.now() - 1_000));
    await using local = await openAppTunnel(call, {
      name: "wiki",
      source: await followProfile(call, await loadProfile(home)),
      port: 0,
      isHttp: false,
      hosts: [],
    });
    const connection = async (): Promise<void> => void (await connect(local.port, "127.0.0.1").toArray());
    await connection();
    const renewed = await logIn(new Date(Date.now() + 60_000));
    await connection();
    const latest = await logIn(new Date(Date.now() + 60_000));
    await connection();
    expect(shown).toEqual([renewed, latest]);
    expect(io.err().match(/^ERROR: .*/gm)).toEqual([expect.stringContaining("expired"), `ERROR: ${refusal.message}`, `ERROR: ${refusal.message}`]);
  } finally {
    proxy.close();
    await rm(home, { recursive: true });
  }
});

test("a request for another host than the local port is answered with 421, and reaches nothing", async () => {
  const home = await mkdtemp(join(tmpdir(), "platform-app-tunnel-"));
  const reached = vi.fn();
  const proxy = await listenTcp((socket) => {
    reached();
    socket.destroy();
  });
  const io = memoryIo({ TSH_HOME: home });
  const call: Call = { io, args: [], options: noOptions };
  const profile = profileOf({ proxy: { host: proxy.host, port: proxy.port }, validUntil: new Date(Date.now() + 60_000) });
  try {
    const hosts = [{ host: "dev.test", port: 0 }];
    await using local = await openAppTunnel(call, { name: "wiki", source: { current: async () => profile }, port: 0, isHttp: true, hosts });
    const ask = async (host: string): Promise<string> => {
      const socket = connect(local.port, "127.0.0.1").on("error", () => {});
      socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`);
      return Buffer.concat(await socket.toArray().catch(() => [])).toString();
    };
    const answer = await ask(`attacker.example:${local.port}`);
    expect(answer).toMatch(/^HTTP\/1\.1 421 Misdirected Request\r\n.*Connection: close\r\n\r\nthis port of tsh serves 127\.0\.0\.1:/s);
    expect(answer).toContain("--host=");
    const malformed = connect(local.port, "127.0.0.1");
    malformed.write("\u0016\u0003\u0001");
    expect(String(await malformed.toArray())).toMatch(/^HTTP\/1\.1 400 /);
    await connect(local.port, "127.0.0.1").end().resume().toArray();
    expect([reached.mock.calls.length, io.err()]).toEqual([0, ""]);
    for (const host of [local.address, `localhost:${local.port}`, "dev.test"]) expect(await ask(host)).toBe("");
    expect(reached).toHaveBeenCalledTimes(3);
  } finally {
    proxy.close();
    await rm(home, { recursive: true });
  }
});
