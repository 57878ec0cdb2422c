import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { errorLine } from "../../service/health.ts";
import type { Database } from "../database.ts";
import type { AccountServer } from "./account-server.ts";

export interface AdminFaultsOptions {
  /** Called some time after a fault has appeared, changed or gone, once for several changes. */
  readonly onChange: () => void;
  readonly log: Pick<Log, "info">;
  /** Time in which changes are collected, ms: each report carries the whole list. */
  readonly collectMs?: number;
}

/** Maximum number of databases whose faults are kept; the oldest one is forgotten first. */
const mostKept = 1_000;

type Offered = Pick<Database, "name" | "uri" | "adminUser">;

/**
 * Faults of the admin_user at each database, as the last session found them that needed an account: a login that the server refuses, a right that is
 * missing. Without a user's proof an agent gets no certificate as admin_user, so that no check can find them before.
 */
export class AdminFaults {
  readonly #options: AdminFaultsOptions;
  readonly #faults = new Map<string, string>();
  #collecting: NodeJS.Timeout | undefined;

  constructor(options: AdminFaultsOptions) {
    this.#options = options;
  }

  /** One printable line; undefined: none is known. */
  of(database: Offered): string | undefined {
    return this.#faults.get(keyOf(database));
  }

  /** Logs in as admin_user, with a certificate that the agent has already, and notes what the server does. Throws as `logIn` does. */
  async watch(database: Offered, logIn: () => Promise<AccountServer>): Promise<AccountServer> {
    const server = await this.#watched(database, logIn, { ends: false });
    return {
      get isOpen() {
        return server.isOpen;
      },
      activate: async (account) => await this.#watched(database, async () => await server.activate(account), { ends: true }),
      deactivate: async (name, mode) => await this.#watched(database, async () => await server.deactivate(name, mode), { ends: false }),
      sweep: async () => await server.sweep(),
      close: () => server.close(),
    };
  }

  /** `ends`: a success shows that the fault is gone. */
  async #watched<T>(database: Offered, work: () => Promise<T>, { ends }: { readonly ends: boolean }): Promise<T> {
    try {
      const result = await work();
      if (ends) this.#take(database, undefined);
      return result;
    } catch (thrown) {
      // A denial concerns the user's account.
      if (!(thrown instanceof PlatformError && thrown.code === "denied"))
        this.#take(database, errorLine(`admin_user ${database.adminUser?.name ?? ""}: ${errorText(thrown)}`));
      throw thrown;
    }
  }

  #take(database: Offered, fault: string | undefined): void {
    const key = keyOf(database);
    if (this.#faults.get(key) === fault) return;
    this.#faults.delete(key);
    if (fault !== undefined) this.#faults.set(key, fault);
    else this.#options.log.info("the admin_user of a database makes accounts again", { db: database.name });
    const [oldest = ""] = this.#faults.keys();
    if (this.#faults.size > mostKept) this.#faults.delete(oldest);
    const { onChange, collectMs = 1_000 } = this.#options;
    if (this.#collecting !== undefined) return;
    this.#collecting = setTimeout(() => {
      this.#collecting = undefined;
      onChange();
    }, collectMs).unref();
  }
}

/** A fault belongs to the settings with which it was found. */
function keyOf({ name, uri, adminUser }: Offered): string {
  return JSON.stringify([name, uri, adminUser]);
}

/** Health in a database's details, with the fault of its admin_user where the server itself has none. Pure. */
export function withAdminFault(health: Readonly<Record<string, string>>, fault: string | undefined): Readonly<Record<string, string>> {
  return fault === undefined || health.health_error !== undefined ? health : { ...health, health_error: fault };
}
