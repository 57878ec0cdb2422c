import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { type DirectHost, directHostSchema } from "../../../core/resources/directory-host.ts";
import type { Entry } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { directHostPrefix } from "./direct-hosts.ts";

type Context = Pick<AuthContext, "storage" | "live" | "offered" | "offerRoom" | "names" | "clusterName">;

/** Recorded hosts whose way may have changed since they were last taken: at first all of them. It also knows the hosts that proxies dial. */
export class HostChanges implements Disposable {
  readonly #pending = new Set<string>();
  readonly #direct = new Map<string, DirectHost>();
  readonly #opened = new DisposableStack();
  #wake: () => void = () => {};
  #fault: PlatformError | undefined;
  namesOf: (id: string) => readonly string[] = () => [];
  namesakes: (id: string) => readonly string[] = () => [];

  static async open(context: Context, signal: AbortSignal): Promise<HostChanges> {
    const made = new HostChanges();
    try {
      await made.#follow(context, signal);
      return made;
    } catch (thrown) {
      made[Symbol.dispose]();
      throw thrown;
    }
  }

  get size(): number {
    return this.#pending.size;
  }

  direct(id: string): DirectHost | undefined {
    return this.#direct.get(id);
  }

  /** The next hosts to look at, at most so many. Throws when changes were lost. */
  take(count: number): readonly string[] {
    if (this.#fault !== undefined) throw this.#fault;
    const taken = this.#pending.values().take(count).toArray();
    for (const id of taken) this.#pending.delete(id);
    return taken;
  }

  /** Resolves to true at a change, to false after the time or at the signal. */
  async arrive(ms: number): Promise<boolean> {
    if (this.#pending.size > 0 || this.#fault !== undefined) return true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
    return this.#pending.size > 0 || this.#fault !== undefined;
  }

  async #follow({ storage, live, offered, offerRoom, names, clusterName }: Context, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    this.#opened.defer(() => stop.abort());
    const either = AbortSignal.any([signal, stop.signal]);
    either.addEventListener("abort", () => this.#wake(), { once: true });
    const changes = storage.watch([directHostPrefix], either);
    for (const entry of await storage.list(directHostPrefix)) this.#takeDirect(entry);
    this.#opened.use(live.onChange((id) => this.#mark(id)));
    // What is offered through a tunnel, a proxy knows by itself.
    this.#opened.use(offered.onChange((id) => live.get(id)?.isDialled === true && this.#mark(id)));
    this.#opened.use(offerRoom.onChange((id) => this.#mark(id)));
    const lost = (): void => this.#fail(new PlatformError("unavailable", "changes of hosts were lost"));
    const recorded = this.#opened.use(await names.watch({ changed: (id) => this.#markAll([id, ...this.namesakes(id)]), lost }));
    this.namesOf = (id) => recorded.index.namesOf(id);
    this.namesakes = (id) => recorded.index.namesakes(id, clusterName);
    this.#markAll(recorded.index.ids());
    void this.#followDirect(changes).catch((error: unknown) => this.#fail(toPlatformError(error)));
  }

  async #followDirect(changes: ReturnType<Context["storage"]["watch"]>): Promise<void> {
    for await (const change of changes) {
      if (change.kind === "put") this.#takeDirect(change.entry);
      else this.#direct.delete(idOf(change.key));
      this.#mark(idOf(change.kind === "put" ? change.entry.key : change.key));
    }
    this.#fail(new PlatformError("unavailable", "the auth service is stopping"));
  }

  #takeDirect({ key, value }: Entry): void {
    this.#direct.set(idOf(key), directHostSchema.parse(JSON.parse(value)));
  }

  #mark(id: string): void {
    this.#pending.add(id);
    this.#wake();
  }

  #markAll(ids: readonly string[]): void {
    for (const id of ids) this.#mark(id);
  }

  #fail(error: PlatformError): void {
    this.#fault ??= error;
    this.#wake();
  }

  [Symbol.dispose](): void {
    this.#opened.dispose();
  }
}

function idOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}
