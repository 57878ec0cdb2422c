import { isUncounted } from "../../../core/databases/redis/uncounted-replies.ts";
import type { StatementResult } from "../../../core/recording/statements.ts";
import type { Settle } from "../engine.ts";
import { type ClusterMap, clusterMapOf } from "./cluster/cluster-maps.ts";
import { type Command, wordAt } from "./command.ts";

/** Maximum number of commands whose results are awaited for the recording. */
const maxAwaited = 4_096;
/** Maximum number of open questions where a cluster's members are. */
const maxMaps = 64;

interface Awaited {
  readonly settle: Settle;
  /** Whether a reply without an error means that the command was executed: in a transaction it was put off. */
  readonly isPlain: boolean;
}

/**
 * Whether the client waits for a reply, and to which command. An error that answers no command breaks some clients, so that they must not get one.
 */
export class OpenAnswers {
  #sent = 0;
  #replied = 0;
  /** Set for good once the replies cannot be counted. */
  #isUnsure = false;
  #inTransaction = false;
  /** By the number of the command. */
  readonly #awaited = new Map<number, Awaited>();
  /** Questions where members are, by the number of the command. */
  readonly #maps = new Map<number, ClusterMap>();
  #error: Buffer | undefined;

  /** Whether the reply to the next command will be known as such. */
  get isSure(): boolean {
    return !this.#isUnsure && !this.#inTransaction && this.#maps.size < maxMaps;
  }

  /** What the reply that comes next states about the members of the cluster; undefined: nothing. */
  get mapNext(): ClusterMap | undefined {
    return this.#maps.get(this.#replied + 1);
  }

  get isAwaited(): boolean {
    return this.#sent > this.#replied && !this.#isUnsure;
  }

  /** `settle`: of a recorded command. */
  sent(command: Command, settle?: Settle): void {
    const [name, sub] = [wordAt(command, 0), wordAt(command, 1)];
    const map = this.isSure ? clusterMapOf(command) : undefined;
    const isPlain = !this.#inTransaction;
    if (name === "multi") this.#inTransaction = true;
    else if (name === "exec" || name === "discard") this.#inTransaction = false;
    this.#isUnsure ||= isUncounted(name, sub);
    this.#sent += 1;
    if (map !== undefined) this.#maps.set(this.#sent, map);
    if (settle === undefined) return;
    if (this.#isUnsure || this.#awaited.size >= maxAwaited) settle({ outcome: "unknown" });
    else this.#awaited.set(this.#sent, { settle, isPlain });
  }

  /** The reply that comes is an error; the beginning of its line. */
  failed(line: Buffer): void {
    if (this.#awaited.has(this.#replied + 1)) this.#error = Buffer.from(line);
  }

  replied(): void {
    const error = this.#error;
    this.#error = undefined;
    if (this.#replied === this.#sent) return;
    this.#replied += 1;
    this.#maps.delete(this.#replied);
    const awaited = this.#awaited.get(this.#replied);
    if (awaited === undefined) return;
    this.#awaited.delete(this.#replied);
    if (error !== undefined) awaited.settle(errorResult(error));
    else awaited.settle({ outcome: awaited.isPlain ? "ok" : "unknown" });
  }
}

/** `-CODE text`, without its end. */
function errorResult(line: Buffer): StatementResult {
  const [, code = "", message = ""] = /^-(\S*) ?(.*?)\r?$/.exec(line.toString("utf8")) ?? [];
  return { outcome: "failed", code, message };
}
