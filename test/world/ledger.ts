import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { psqlArguments } from "./postgres-world.ts";
import { start } from "./program.ts";

/** A client that writes down what the server has acknowledged to it, through whatever happens on the way. */
export interface NumberLedger {
  /** Numbers whose commit was acknowledged. */
  readonly committed: readonly number[];
  /** Why connections and statements failed: the SQLSTATE, or the client's own code or message. */
  readonly errors: readonly string[];
  /** Waits for the current attempts. */
  stop(): Promise<void>;
}

/** The same, and another client beside it whose batches are copied. */
export interface Ledger extends NumberLedger {
  /** Batches whose COPY was acknowledged. */
  readonly copied: readonly number[];
}

/** A connection that writes numbers. */
export interface NumberWriter {
  /** Returns once the server has acknowledged it. */
  write(n: number): Promise<void>;
  end(): Promise<void>;
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
export const patienceMs = 60_000;

/**
 * Writes one number after the other, on a new connection after each failure; none is tried again. `open` gets what to call with the reason when its
 * connection ends: a write that comes after that fails without it. `tell`: what stands in `errors`.
 */
export function keepNumbers(
  open: (ended: (thrown: unknown) => void) => Promise<NumberWriter>,
  tell: (thrown: unknown) => string = codeOf,
): NumberLedger {
  const ending = new AbortController();
  const [committed, errors] = [[] as number[], [] as string[]];
  const running = (async () => {
    let writer: NumberWriter | undefined;
    let ended: unknown;
    for (let n = 1; !ending.signal.aborted; n += 1) {
      try {
        writer ??= await open((thrown) => (ended = thrown));
        await writer.write(n);
        committed.push(n);
      } catch (thrown) {
        void writer?.end().catch(() => {});
        writer = undefined;
        errors.push(tell(ended ?? thrown));
        ended = undefined;
        await pause(ending.signal);
      }
    }
    await writer?.end().catch(() => {});
  })();
  return { committed, errors, stop: async () => await stopped(ending, running) };
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(pauseMs, undefined, { signal }).catch(() => {});
}

async function stopped(ending: AbortController, running: Promise<void>): Promise<void> {
  ending.abort();
  await running;
}

/** At PostgreSQL: a transaction for each number, and a COPY for each batch. */
export function keepLedger(port: number): Ledger {
  const numbers = keepNumbers(async (ended) => {
    const client = await connected(port, ended);
    const write = async (n: number): Promise<void> => {
      await client.query("begin");
      await client.query("insert into ledger values ($1)", [n]);
      await client.query("commit");
    };
    return { write, end: () => client.end() };
  });
  const ending = new AbortController();
  const [copied, errors] = [[] as number[], [] as string[]];
  const copies = (async () => {
    for (let batch = 1; !ending.signal.aborted; batch += 1) {
      const why = await copyBatch(port, batch);
      if (why === undefined) copied.push(batch);
      else errors.push(why);
      await pause(ending.signal);
    }
  })();
  return {
    committed: numbers.committed,
    copied,
    get errors() {
      return [...numbers.errors, ...errors];
    },
    stop: async () => void (await Promise.all([numbers.stop(), stopped(ending, copies)])),
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
