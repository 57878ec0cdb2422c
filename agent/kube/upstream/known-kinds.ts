import { PlatformError } from "../../../core/errors/platform-error.ts";
import { discoveryPath, KindTable } from "../judge/kind-table.ts";
import type { ApiServer } from "./api-server.ts";
import { askAsAgent } from "./ask-as-agent.ts";

const askMs = 10_000;
/** Longest list of kinds, bytes. */
const maxList = 4 * 1024 * 1024;
/** Time for which a list is not read again, ms: a client may ask for kinds that are not there as fast as it can. */
const restMs = 500;
const maxGroups = 2_000;
/** Longest name of a group with its version: a DNS name, and a label. */
const maxName = 253 + 1 + 63;

/** The kinds of one cluster, read from its API server when they are first needed, and again for one that is not among them. */
export class KnownKinds {
  readonly table = new KindTable();
  readonly #api: Pick<ApiServer, "send">;
  readonly #readAt = new Map<string, number>();
  readonly #reading = new Map<string, Promise<void>>();

  constructor(api: Pick<ApiServer, "send">) {
    this.#api = api;
  }

  /** Reads the kinds in a version of a group; once for all that wait for it. There are none under a name that is too long. Throws `unavailable`. */
  async read(groupVersion: string): Promise<void> {
    if (groupVersion.length > maxName) return;
    const last = this.#readAt.get(groupVersion);
    if (last !== undefined && performance.now() - last < restMs) return;
    const reading =
      this.#reading.get(groupVersion) ??
      this.#ask(groupVersion).finally(() => {
        this.#reading.delete(groupVersion);
      });
    this.#reading.set(groupVersion, reading);
    await reading;
  }

  async #ask(groupVersion: string): Promise<void> {
    const path = discoveryPath(groupVersion);
    const { status, json } = await askAsAgent(this.#api, { method: "GET", path, timeoutMs: askMs, maxBytes: maxList });
    if (this.#readAt.size >= maxGroups) this.#readAt.clear();
    this.#readAt.set(groupVersion, performance.now());
    if (status === 200) this.table.set(groupVersion, json);
    else if (status === 404) this.table.remove(groupVersion);
    else throw new PlatformError("unavailable", `the API server did not list its kinds in ${groupVersion}: it answered ${status}`);
  }
}
