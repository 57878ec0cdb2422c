import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { discoveryPath, KindTable } from "../judge/kind-table.ts";
import type { ApiServer } from "./api-server.ts";
import { askAsAgent } from "./ask-as-agent.ts";

const askMs = 10_000;
/** Longest list of kinds, bytes. */
const maxList = 4 * 1024 * 1024;
/** Minimum time between two readings of a list, ms: a client may ask for missing kinds as fast as it can. */
const restMs = 500;
/** Age at which a list is read again, ms: a kind may have been defined again in another way. */
const maxAgeMs = 5 * 60_000;
/** Time limit for all versions of a group together, ms: one whose server does not answer must not hold up the others. */
const groupMs = 3_000;
/** Maximum paths whose last reading is remembered: of lists, and of those where no list is, whose names clients can make up. */
const most = { listed: 2_000, absent: 200 } as const;
/** Longest name of a group with its version: a DNS name, and a label. */
const maxName = 253 + 1 + 63;
/** Maximum versions of one group that are read. */
const maxVersions = 16;

/** A name of a group: the agent asks for it by itself, so nothing else of a client may get into its path. */
const groupName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const versionName = /^[a-z0-9]{1,63}$/;

const groupsPath = "/apis";
/** An APIGroupList of Kubernetes, as far as it is read. */
const groupsSchema = z.object({ groups: z.array(z.object({ name: z.string(), versions: z.array(z.object({ version: z.string() })) })) });

/** The kinds of one cluster, read from its API server when they are first needed, and again as they age and for one that is not among them. */
export class KnownKinds {
  readonly table = new KindTable();
  readonly #api: Pick<ApiServer, "send">;
  readonly #steady: () => number;
  /** Times of the last reading, by path. */
  readonly #readAt = { listed: new Map<string, number>(), absent: new Map<string, number>() } as const;
  readonly #reading = new Map<string, Promise<void>>();
  /** Versions of each group, as they were listed last. */
  #versions: ReadonlyMap<string, readonly string[]> = new Map();

  /** `steady`: monotonic milliseconds. */
  constructor(api: Pick<ApiServer, "send">, steady: () => number = () => performance.now()) {
    this.#api = api;
    this.#steady = steady;
  }

  /** Reads the kinds in a version of a group; once for all that wait for it. There are none under a name that is too long. Throws `unavailable`. */
  async read(groupVersion: string): Promise<void> {
    if (groupVersion.length > maxName) return;
    const path = discoveryPath(groupVersion);
    await this.#once(path, async () => {
      const { status, json } = await this.#ask(path);
      if (status === 200) this.table.set(groupVersion, json);
      else if (status === 404) this.table.remove(groupVersion);
      else throw new PlatformError("unavailable", `the API server did not list its kinds in ${groupVersion}: it answered ${status}`);
    });
  }

  /**
   * Reads the kinds in a version of a group again if they are older than five minutes. Returns a promise if they are older than ten: wait for it. While that
   * fails, they stay as they are. Never rejects.
   */
  refresh(groupVersion: string): Promise<void> | undefined {
    const age = this.#steady() - (this.#lastRead(discoveryPath(groupVersion)) ?? Number.NEGATIVE_INFINITY);
    if (age < maxAgeMs) return undefined;
    const reading = this.read(groupVersion).catch(() => {});
    return age > 2 * maxAgeMs ? reading : undefined;
  }

  /**
   * Reads the kinds in all versions of a group, as `read` does, for three seconds at most: a version whose server is down is left out. There are none under
   * a name that no group has. Throws `unavailable` if the groups cannot be listed.
   */
  async readGroup(group: string): Promise<void> {
    if (group === "") return await this.read("v1");
    if (!groupName.test(group)) return;
    await this.#readGroups();
    const known = (this.#versions.get(group) ?? []).filter((version) => versionName.test(version));
    const reading = Promise.allSettled(known.slice(0, maxVersions).map(async (version) => await this.read(`${group}/${version}`)));
    await within(groupMs, reading);
  }

  /** One list of all groups, so that groups that clients make up cost the API server no request each. Throws `unavailable`. */
  async #readGroups(): Promise<void> {
    await this.#once(groupsPath, async () => {
      const { status, json } = await this.#ask(groupsPath);
      if (status !== 200) throw new PlatformError("unavailable", `the API server did not list its groups: it answered ${status}`);
      const listed = groupsSchema.safeParse(json).data?.groups ?? [];
      this.#versions = new Map(listed.map(({ name, versions }) => [name, versions.map(({ version }) => version)]));
    });
  }

  async #once(path: string, work: () => Promise<void>): Promise<void> {
    const last = this.#lastRead(path);
    let reading = this.#reading.get(path);
    if (reading === undefined && last !== undefined && this.#steady() - last < restMs) return;
    reading ??= work().finally(() => {
      this.#reading.delete(path);
    });
    this.#reading.set(path, reading);
    await reading;
  }

  async #ask(path: string): ReturnType<typeof askAsAgent> {
    const answer = await askAsAgent(this.#api, { method: "GET", path, timeoutMs: askMs, maxBytes: maxList });
    this.#note(path, answer.status);
    return answer;
  }

  #lastRead(path: string): number | undefined {
    return this.#readAt.listed.get(path) ?? this.#readAt.absent.get(path);
  }

  /** A list that was there stays among them while its server fails. */
  #note(path: string, status: number): void {
    const wasListed = this.#readAt.listed.delete(path);
    this.#readAt.absent.delete(path);
    const sort = status === 200 || (wasListed && status !== 404) ? "listed" : "absent";
    const times = this.#readAt[sort];
    const [oldest] = times.keys();
    if (oldest !== undefined && times.size >= most[sort]) times.delete(oldest);
    times.set(path, this.#steady());
  }
}

/** Waits for the work, but not longer than this. */
async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
