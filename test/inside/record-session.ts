import { randomUUID } from "node:crypto";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { joinTestHost } from "./connect-agent.ts";
import { memberFile } from "./member-file.ts";
import type { TestCluster } from "./open-cluster.ts";

export interface RecordedSession {
  readonly user: string;
  /** Each is a part of whole lines; or the file itself. */
  readonly texts: readonly string[] | Buffer;
  /** Left out: any. */
  readonly sid?: string;
  /** Left out: of a terminal. */
  readonly format?: "statements" | "requests";
  readonly isRunning?: boolean;
  /** Length, s. */
  readonly seconds?: number;
}

/** Maximum size of one call, bytes. */
const callBytes = 512 * 1024;

/** A recording that a new host has sent. Returns the id of its session. */
export async function recordSession(
  cluster: TestCluster,
  { user, texts, sid = randomUUID(), format, isRunning = false, seconds = 60 }: RecordedSession,
): Promise<string> {
  const host = await joinTestHost(cluster, "web-1");
  const credentials = { certificate: host.tlsCertificate, privateKey: host.tlsPrivateKey };
  using connection = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem, credentials });
  const started = new Date(Date.now() - seconds * 1000);
  const service = format === undefined ? { login: "root" } : { kind: format === "statements" ? "db" : "app", resource: "orders", format };
  const facts = { sid, server_id: host.hostId, server_name: "web-1", user, ...service, started: started.toISOString() };
  const file = Buffer.isBuffer(texts) ? texts : memberFile(texts);
  const ended = new Date(started.getTime() + seconds * 1000).toISOString();
  for (let offset = 0; offset < file.length; offset += callBytes) {
    const isLast = offset + callBytes >= file.length && !isRunning;
    const endJson = isLast ? JSON.stringify({ ended, interrupted: false }) : "";
    await connection.client.uploadRecording({ factsJson: JSON.stringify(facts), offset, data: file.subarray(offset, offset + callBytes), endJson });
  }
  return facts.sid;
}
