/** For tests: an authority, and a connected client and server. */
import type { KeyObject } from "node:crypto";
import { type Duplex, duplexPair } from "node:stream";
import type { ClientChannel, ServerChannel } from "ssh2";
import { type SignCertificateOptions, signCertificate } from "../certificate.ts";
import { checkCertificate } from "../check-certificate.ts";
import { generateSshKey } from "../keys.ts";
import { type ConnectSshOptions, connectSsh, type SshConnection } from "../ssh-client.ts";
import { type AcceptedSsh, type AcceptSshOptions, acceptSsh } from "../ssh-server.ts";

export interface Party {
  readonly key: KeyObject;
  readonly certificate: Buffer;
}

export function issue(
  authority: KeyObject,
  type: "user" | "host",
  more: Partial<SignCertificateOptions & SignCertificateOptions["fields"]> = {},
): Party {
  const key = more.key ?? generateSshKey().privateKey;
  const fields = {
    type,
    keyId: more.keyId ?? (type === "user" ? "alice" : "node-1"),
    principals: more.principals ?? (type === "user" ? ["root"] : ["node-1"]),
    extensions: more.extensions ?? new Map<string, string>(),
    validBefore: more.validBefore ?? new Date(Date.now() + 3_600_000),
  };
  return { key, certificate: signCertificate({ authority, validAfter: new Date(Date.now() - 60_000), ...more, key, fields }) };
}

export interface Fixture {
  readonly authority: ReturnType<typeof generateSshKey>;
  readonly streams?: readonly [Duplex, Duplex];
  readonly user?: Party;
  readonly host?: Party;
  readonly client?: Partial<ConnectSshOptions>;
  readonly server?: Partial<AcceptSshOptions>;
}

/** Both ends at once; each settles on its own. */
export function meet(fixture: Fixture): { client: Promise<SshConnection>; server: Promise<AcceptedSsh> } {
  const { authority } = fixture;
  const user = fixture.user ?? issue(authority.privateKey, "user");
  const host = fixture.host ?? issue(authority.privateKey, "host");
  const [near, far] = fixture.streams ?? duplexPair();
  const { signal } = new AbortController();
  const server = acceptSsh({
    stream: far,
    hostKey: host.key,
    hostCertificate: host.certificate,
    authenticate: ({ certificate, username }) =>
      checkCertificate(certificate, { type: "user", authorities: [authority.publicLine], principal: username, now: new Date() }),
    signal,
    ...fixture.server,
  });
  const client = connectSsh({
    stream: near,
    username: "root",
    privateKey: user.key,
    certificate: user.certificate,
    hostAuthorities: [authority.publicLine],
    principal: "node-1",
    timeoutMs: 10_000,
    signal,
    ...fixture.client,
  });
  server.catch(() => {});
  client.catch(() => {});
  return { client, server };
}

/** A connected client and server, and one exec channel between them. */
export async function openChannel(fixture: Fixture): Promise<{
  client: SshConnection;
  server: AcceptedSsh["connection"];
  near: ClientChannel;
  far: ServerChannel;
}> {
  const both = meet(fixture);
  const [client, { connection: server }] = await Promise.all([both.client, both.server]);
  const far = new Promise<ServerChannel>((resolve) => {
    server.on("session", (accept) => {
      accept().on("exec", (acceptExec) => resolve(acceptExec()));
    });
  });
  const near = await new Promise<ClientChannel>((resolve, reject) => {
    client.exec("test", (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
  return { client, server, near, far: await far };
}
