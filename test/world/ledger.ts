import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { psqlArguments } from "./postgres-world.ts";
import { start } from "./program.ts";

/** Clients that write down what the server has acknowledged to them, through whatever happens on the way. */
export interface Ledger {
  /** Numbers whose commit was acknowledged. */
  readonly committed: readonly number[];
  /** Batches whose COPY was acknowledged. */
  readonly copied: readonly number[];
  /** Why connections and statements failed: the SQLSTATE, or the client's own code or message. */
  readonly errors: readonly string[];
  /** Waits for the current attempts. */
  stop(): Promise<void>;
}

/** Tables that `keepLedger` writes to: neither refuses a number that comes twice. */
export const ledgerTables = "create table ledger (n int); create table batches (batch int, row int); grant all on ledger, batches to writer";
/** Rows of each batch, which psql gets in parts, so that it takes a moment. */
export const batchRows = 10_000;
const parts = 10;
const partMs = 25;

/** Pause after a failure, and between two batches, ms. */
const pauseMs = 100;
/** Longest wait of a client for an answer, ms: a client that waits for ever would prove nothing. */
const patienceMs = 60_000;

/** A transaction for each number, and a COPY for each batch, one after the other; nothing is tried again under the same number. */
export function keepLedger(port: number): Ledger {
  const ending = new AbortController();
  const [committed, copied, errors] = [[] as number[], [] as number[], [] as string[]];
  const failed = async (why: string): Promise<void> => {
    errors.push(why);
    await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => {});
  };
  const commits = async (): Promise<void> => {
    let client: Client | undefined;
    // Why the connection ended: a query that comes after it fails without the reason.
    let ended: unknown;
    for (let n = 1; !ending.signal.aborted; n += 1) {
      try {
        client ??= await connected(port, (thrown) => (ended = thrown));
        await client.query("begin");
        await client.query("insert into ledger values ($1)", [n]);
        await client.query("commit");
        committed.push(n);
      } catch (thrown) {
        void client?.end().catch(() => {});
        client = undefined;
        await failed(codeOf(ended ?? thrown));
        ended = undefined;
      }
    }
    await client?.end().catch(() => {});
  };
  const copies = async (): Promise<void> => {
    for (let batch = 1; !ending.signal.aborted; batch += 1) {
      const why = await copyBatch(port, batch);
      if (why !== undefined) await failed(why);
      else {
        copied.push(batch);
        await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => {});
      }
    }
  };
  const running = Promise.all([commits(), copies()]);
  return {
    committed,
    copied,
    errors,
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}

/** Undefined: the server has acknowledged it. Otherwise why it failed, as in `errors`. */
async function copyBatch(port: number, batch: number): Promise<string | undefined> {
  const child = start("psql", [...psqlArguments(port, "writer"), "-v", "VERBOSITY=verbose", "-c", "copy batches from stdin"]);
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdin?.on("error", () => {});
  const closed = once(child, "close");
  const size = batchRows / parts;
  for (let part = 0; part < parts && child.exitCode === null; part += 1) {
    child.stdin?.write(Array.from({ length: size }, (_, row) => `${batch}\t${part * size + row}\n`).join(""));
    // The pace of the copy.
    await sleep(partMs);
  }
  child.stdin?.end();
  const [status] = (await closed) as [number | null];
  clearTimeout(timer);
  if (status === 0 && out === `COPY ${batchRows}\n`) return undefined;
  return /(?:ERROR|FATAL): {2}([0-9A-Z]{5}):/.exec(err)?.[1] ?? (err.trim().slice(0, 300) || `psql ended with ${status}`);
}

async function connected(port: number, ended: (thrown: Error) => void): Promise<Client> {
  const client = new Client({
    ...{ host: "127.0.0.1", port, user: "writer", database: "orders" },
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
  });
  client.on("error", ended);
  await client.connect();
  return client;
}

/** The SQLSTATE of an error that the server, or the agent in its words, has sent; otherwise the client's own. */
export function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : thrown.message;
}
