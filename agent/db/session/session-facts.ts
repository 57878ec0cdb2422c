import type { Duplex } from "node:stream";
import type { ServedGrant } from "../../../core/access/authorize.ts";
import type { RecordingMode } from "../../../core/resources/recording.ts";
import type { ConnectionLease } from "../../service/connection-limits.ts";
import type { HeldAccount } from "../accounts/account-hold.ts";
import type { Database, ServerCredentials } from "../database.ts";
import type { DatabaseEvent, DatabaseNames } from "../engine.ts";

/** What the service has decided about a session, apart from its protocol. */
export interface DbSessionFacts {
  readonly client: Duplex;
  readonly database: Database;
  readonly asked: DatabaseNames;
  readonly sid: string;
  /** As certified. */
  readonly user: string;
  /** Id of the proxy whose database port the client has used. */
  readonly relayedBy?: string | undefined;
  /** The device that confirmed the session itself. */
  readonly mfaDevice?: string | undefined;
  readonly clientAddress: string;
  readonly signal: AbortSignal;
  /** Recording mode of the cluster. */
  readonly sessionRecording: RecordingMode;
  /** The agent's own decision about these names. Throws `denied`. */
  readonly judge: (names: DatabaseNames) => Promise<ServedGrant<"db">>;
  /** The same decision as a boolean, at any time. */
  readonly mayUse: (names: DatabaseNames) => boolean;
  /** Address that the client has dialled, as tsh states it. */
  readonly reachedAt: string | undefined;
  /** As in EngineSession. */
  readonly member?: string | undefined;
  /** Takes one of the connections that the user may have. Throws `limit`. */
  readonly lease: (grant: ServedGrant<"db">) => Promise<ConnectionLease | undefined>;
  readonly credentials: (account: string) => Promise<ServerCredentials>;
  /** Makes the user's own account at the server; only where a grant says so. `record` never throws. Throws `denied`, `unavailable`. */
  readonly ownAccount?: ((grant: ServedGrant<"db">, record: (event: DatabaseEvent) => Promise<void>) => Promise<HeldAccount>) | undefined;
  /** Time from the client's arrival to its login, ms. Default: 30 seconds. */
  readonly loginMs?: number;
}
