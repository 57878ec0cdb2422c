import { X509Certificate } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
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
    await using local = await openAppTunnel(call, { name: "wiki", source: await followProfile(call, await loadProfile(home)), port: 0 });
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
