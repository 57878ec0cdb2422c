import { join } from "node:path";
import type { AuthClient } from "../core/api/auth-client.ts";
import { sendRecordings } from "../core/api/send-recordings.ts";
import { errorText } from "../core/errors/platform-error.ts";
import { isServedKind } from "../core/kinds/service-kinds.ts";
import type { Log } from "../core/log/log.ts";
import { openRecordings, type Recordings } from "../core/recording-spool/recordings.ts";
import { openSpool, type Spool } from "./audit/spool.ts";
import { uploadEvents, uploadNext } from "./audit/upload.ts";

/** Audit events and recordings that this host keeps until the auth service has accepted them. */
export interface Outbox {
  readonly audit: Spool;
  readonly recordings: Recordings;
  /** Sends them as they come, until aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** Sends what is pending, as far as possible. Never throws. */
  sendRest(): Promise<void>;
  close(): Promise<void>;
}

export interface OutboxOptions {
  /** The agent's own. */
  readonly folder: string;
  readonly clusterName: string;
  readonly client: () => Promise<AuthClient>;
  readonly log: Log;
  /** Names of this host's services. */
  readonly services: readonly string[];
}

export async function openOutbox({ folder, clusterName, client, log, services }: OutboxOptions): Promise<Outbox> {
  const spool = await openSpool({ folder: join(folder, "audit"), clusterName, log, massServices: services.filter(isServedKind).length });
  const recordings = await openRecordings({
    folder: join(folder, "recordings"),
    log,
    ...sendRecordings(client),
  });
  const events = { spool, log, send: async (lines: readonly string[]) => void (await (await client()).emitEvents({ eventsJson: [...lines] })) };
  return {
    audit: spool,
    recordings,
    run: async (signal) => void (await Promise.all([uploadEvents(events, signal), recordings.upload(signal)])),
    sendRest: async () => {
      let isMore = true;
      while (isMore) isMore = await uploadNext(events).catch(() => false);
      await recordings.sendRest().catch((error: unknown) => log.debug("recordings are left to the next process", { error: errorText(error) }));
    },
    close: async () => {
      await spool.close().catch((error: unknown) => log.error("could not close the audit spool", { error: errorText(error) }));
    },
  };
}
