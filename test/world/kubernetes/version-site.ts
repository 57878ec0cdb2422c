import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createTestAuthority } from "../../../core/transport/dial/testing/test-certificate.ts";
import { signStatement } from "../../../core/versions/upgrade-statement.ts";

/** Answers of a proxy to an updater, as a test sets them. */
export interface SiteAnswers {
  /** `v1.1.0` or `none`. */
  version: string;
  critical: boolean;
  /** The proxy's own version. */
  proxy: string;
  /** Hosts that a staged roll-out has not reached. */
  held: readonly string[];
  /** Whether the auth service signs. */
  isSigning: boolean;
}

/** A proxy's version endpoint and ping over TLS, on this machine. */
export interface VersionSite extends AsyncDisposable {
  readonly answers: SiteAnswers;
  /** `host:port` */
  readonly address: string;
  /** File with its authority, PEM. */
  readonly ca: string;
  /** Line of the key by which it signs. */
  readonly authority: string;
  /** Ids in whose name it was asked. */
  readonly asked: string[];
}

export async function openVersionSite(folder: string): Promise<VersionSite> {
  const authority = await createTestAuthority();
  const { cert, key } = await authority.issue({ type: "ip", value: "127.0.0.1" });
  const answers: SiteAnswers = { version: "v1.0.0", critical: false, proxy: "1.9.0", held: [], isSigning: true };
  const signer = generateKeyPairSync("ed25519");
  const asked: string[] = [];
  const server: Server = createServer({ cert, key }, (request, response) => {
    const url = new URL(request.url ?? "", "https://site");
    const host = url.searchParams.get("host") ?? "";
    const { version, critical, proxy, held, isSigning } = answers;
    if (url.pathname === "/webapi/ping") return void response.end(JSON.stringify({ server_version: proxy }));
    if (url.pathname.endsWith("/critical")) return void response.end(critical ? "yes" : "no");
    asked.push(host);
    if (held.includes(host)) return void response.setHeader("platform-upgrade-held", "the canaries go first").end("none");
    const facts = { host, channel: "default", version, critical };
    if (isSigning && host !== "" && version !== "none")
      response.setHeader("platform-upgrade-signed", signStatement(facts, { key: signer.privateKey, now: new Date() }));
    response.end(version);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ca = join(folder, "site-ca.pem");
  await writeFile(ca, authority.cert);
  return {
    answers,
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca,
    authority: sshLine(signer.publicKey),
    asked,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** `ssh-ed25519 <base64 of string "ssh-ed25519", string key>` */
function sshLine(key: KeyObject): string {
  const raw = key.export({ type: "spki", format: "der" }).subarray(-32);
  const text = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  return `ssh-ed25519 ${Buffer.concat([text(Buffer.from("ssh-ed25519")), text(raw)]).toString("base64")}`;
}
