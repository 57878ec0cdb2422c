import { once } from "node:events";
import { chmodSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { isAlive } from "../../../core/processes/is-alive.ts";
import { unixGet } from "../../../core/transport/dial/get-over.ts";
import { type ProcessFacts, processSchema } from "./process-state.ts";

/** The answer to GET /status: this process, and the others that still carry sessions. */
type Status = ProcessFacts & { readonly draining: readonly { readonly pid: number; readonly sessions: number; readonly since: string }[] };

const socketName = /^status-(\d{1,10})\.sock$/;
/** Limits of another process's answer: of one that is asked for every status, and of one on whose answer a decision depends, ms; bytes. */
const usualMs = 1_000;
export const patientMs = 10_000;
const maxBytes = 65_536;

/**
 * Serves `/status`, and `/process` for the other processes of this service, on `status-<pid>.sock` in `folder`: for the
 * same user and root only. Throws `unavailable` on failure.
 */
export async function serveStatus(folder: string, facts: () => ProcessFacts, log: Log): Promise<AsyncDisposable> {
  const path = join(folder, `status-${process.pid}.sock`);
  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000, keepAliveTimeout: 1, maxHeaderSize: 8_192 }, (incoming, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
    };
    incoming.resume();
    if (incoming.method !== "GET") answer(405, { error: "only GET is supported" });
    else if (incoming.url === "/process") answer(200, facts());
    else if (incoming.url !== "/status") answer(404, { error: "there is only /status" });
    else {
      statusOf(folder, facts).then(
        (status) => answer(200, status),
        (error: unknown) => {
          log.error("could not report the status", { error: errorText(error) });
          answer(500, { error: "internal error: see the log" });
        },
      );
    }
  });
  server.maxConnections = 32;
  await rm(path, { force: true });
  // Created for its owner alone from the start: the folder is open to all.
  const before = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(before);
  }
  try {
    await once(server, "listening", { signal: AbortSignal.timeout(5_000) });
    chmodSync(path, 0o600);
  } catch (cause) {
    throw new PlatformError("unavailable", `could not open the status socket ${path}: ${errorText(cause)}`, { cause });
  }
  server.on("error", () => {});
  return {
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await rm(path, { force: true });
    },
  };
}

async function statusOf(folder: string, facts: () => ProcessFacts): Promise<Status> {
  const others = await otherProcesses(folder);
  const draining = others.filter(({ role }) => role === "draining").map(({ pid, sessions, since }) => ({ pid, sessions, since }));
  return { ...facts(), draining };
}

/** The states of the other processes of this service. One that does not answer is omitted, and its socket removed once it is gone. */
export async function otherProcesses(folder: string): Promise<readonly ProcessFacts[]> {
  return (await askProcesses(folder)).answers;
}

/** Answers of the other processes of a service. */
export interface AskedProcesses {
  readonly answers: readonly ProcessFacts[];
  /** Those that live and gave no answer: not in time, or (`isDenied`) not to this user. */
  readonly silent: readonly { readonly pid: number; readonly isDenied: boolean }[];
}

interface Asking {
  /** Maximum wait for each, ms. */
  readonly timeoutMs?: number;
  /** With such an answer the others are not waited for. */
  readonly isEnough?: (answer: ProcessFacts) => boolean;
}

/** Asks all of them at once. The socket of one that is gone is removed. Throws when the folder cannot be read. */
export async function askProcesses(folder: string, { timeoutMs = usualMs, isEnough = () => false }: Asking = {}): Promise<AskedProcesses> {
  const enough = new AbortController();
  const names = (await readdir(folder)).filter((name) => Number(socketName.exec(name)?.[1] ?? process.pid) !== process.pid);
  const answers: ProcessFacts[] = [];
  const silent: { pid: number; isDenied: boolean }[] = [];
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const pid = Number(socketName.exec(name)?.[1]);
      try {
        const { body } = await unixGet(path, "/process", { timeoutMs, maxBytes, signal: enough.signal });
        const answer = processSchema.parse(JSON.parse(body.toString()));
        answers.push(answer);
        if (isEnough(answer)) enough.abort();
      } catch (thrown) {
        if (enough.signal.aborted) return;
        // One that lives may be about to listen: the system creates its file a moment before.
        if (isAlive(pid)) silent.push({ pid, isDenied: thrown instanceof Error && "code" in thrown && thrown.code === "EACCES" });
        else await rm(path, { force: true });
      }
    }),
  );
  return { answers, silent };
}
