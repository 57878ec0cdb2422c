import { bundlesOf, exportedKeys } from "../../core/api/trusted-keys.ts";
import { errorText } from "../../core/errors/platform-error.ts";
import { authorityExports } from "../../core/kinds/authority-kinds.ts";
import { HealthChecks } from "../service/health-checks.ts";
import type { OfferedResources } from "../service/offered-resources.ts";
import type { ServiceDeps } from "../service/service.ts";
import type { Database } from "./database.ts";

/** Age at which the authorities of servers are fetched again, ms: a rotation adds one. */
const maxAgeMs = 20_000;
/** Time after a failed attempt before the next one, ms. */
const retryMs = 1_500;

/** Checks the databases that a service offers until the signal, and reports them again when the health of one changes. */
export function checkHealth(
  offered: Pick<OfferedResources<Database>, "all" | "onChange" | "announce">,
  { auth, log }: Pick<ServiceDeps, "auth" | "log">,
  signal: AbortSignal,
): HealthChecks<Database> {
  const authorities = new ServerAuthorities({ auth, log });
  const check = async (database: Database, stop: AbortSignal): Promise<"answers" | undefined> => {
    const known = await authorities.get();
    if (known === undefined && database.tls.mode !== "insecure") return undefined;
    const { checkServer } = await import("./check-server.ts");
    await checkServer(database, { authorities: known ?? [], signal: stop });
    return "answers";
  };
  const health = new HealthChecks<Database>({ kind: "db", settings, check, onChange: () => offered.announce(), log }, signal);
  offered.onChange(() => health.follow(offered.all()));
  health.follow(offered.all());
  return health;
}

function settings({ protocol, uri, tls }: Database): string {
  return JSON.stringify([protocol, uri, tls]);
}

const serverAuthority = authorityExports.find(({ type }) => type === "db");

/** Authorities of database servers, as of a moment ago; the last ones while the auth service cannot be reached. */
class ServerAuthorities {
  readonly #deps: Pick<ServiceDeps, "auth" | "log">;
  #known: readonly string[] | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(deps: Pick<ServiceDeps, "auth" | "log">) {
    this.#deps = deps;
  }

  /** PEM; undefined: the auth service has never answered. */
  async get(): Promise<readonly string[] | undefined> {
    if (performance.now() - this.#askedAt > maxAgeMs) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    return this.#known;
  }

  async #ask(): Promise<void> {
    const { auth, log } = this.#deps;
    try {
      const answer = await (await auth()).getCluster({});
      this.#known = serverAuthority === undefined ? [] : exportedKeys(bundlesOf(answer), serverAuthority);
      this.#askedAt = performance.now();
    } catch (thrown) {
      log.debug("could not fetch the authorities of database servers", { error: errorText(thrown) });
      this.#askedAt = performance.now() - maxAgeMs + retryMs;
    }
  }
}
