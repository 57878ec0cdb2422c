import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClientChannel, PseudoTtyOptions } from "ssh2";
import { memoryIo } from "../cli/memory-io.ts";
import { loadProfile } from "../cli/profile/choose-profile.ts";
import { connectHost } from "../cli/tsh/connect-host.ts";
import { openSshStream } from "../cli/tsh/open-stream.ts";
import type { SshConnection } from "../core/ssh/ssh-client.ts";

/*
 * Many people in one process, with tsh's own modules: sessions that stay, each over a connection of its own, and new ones at a steady pace.
 * node many-sessions-load.ts TSH_HOME LOGIN HOST, spoken to over the channel of child_process.
 */

export type SessionsAsk =
  | { readonly do: "hold"; readonly count: number }
  | { readonly do: "churn"; readonly perSecond: number; readonly seconds: number };
/** Times in ms. */
export interface SessionsTold {
  readonly held: number;
  /** From the dialling to the command's exit status, each. */
  readonly news: readonly number[];
  /** From a key to its echo in a session that stays, each. */
  readonly echoes: readonly number[];
  readonly failures: readonly string[];
}

const [home = "", login = "", host = ""] = process.argv.slice(2);
const profile = await loadProfile(home);
const io = memoryIo();
/** Sessions that begin at the same time. */
const atOnce = 8;
/** Between two keys, ms; for an echo, ms. */
const [keyMs, echoMs] = [100, 10_000] as const;
const terminal: PseudoTtyOptions = { rows: 24, cols: 80, term: "xterm" };
const held: ClientChannel[] = [];
const failures: string[] = [];

async function connect(): Promise<SshConnection> {
  const connection = await connectHost(await openSshStream(io, { profile, target: host, login }), { profile, login, host });
  connection.on("error", (error) => failures.push(String(error)));
  return connection;
}

function exec(connection: SshConnection, command: string, pty?: PseudoTtyOptions): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    connection.exec(command, pty === undefined ? {} : { pty }, (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
}

async function hold(count: number): Promise<void> {
  let begun = held.length;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      try {
        const channel = await exec(await connect(), "exec cat", terminal);
        channel.resume().once("close", () => failures.push("a session that should stay has ended"));
        held.push(channel);
      } catch (thrown) {
        failures.push(String(thrown));
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** One session from beginning to end. */
async function visit(): Promise<number> {
  const began = performance.now();
  const connection = await connect();
  const channel = await exec(connection, "true");
  const status = await new Promise<unknown>((resolve) =>
    channel
      .resume()
      .once("exit", resolve)
      .once("close", () => resolve("none")),
  );
  const took = performance.now() - began;
  connection.end();
  if (status !== 0) throw new Error(`a command ended with ${String(status)}`);
  return took;
}

async function echo(): Promise<number> {
  const channel = held[randomInt(held.length)];
  if (channel === undefined) throw new Error("no session is open");
  const began = performance.now();
  const heard = new Promise<number>((resolve) => channel.once("data", () => resolve(performance.now() - began)));
  channel.write("k");
  const late = sleep(echoMs, undefined, { ref: false }).then(() => Promise.reject(new Error("no echo")));
  return await Promise.race([heard, late]);
}

async function churn(perSecond: number, seconds: number): Promise<Pick<SessionsTold, "news" | "echoes">> {
  const [news, echoes, open]: [number[], number[], Promise<void>[]] = [[], [], []];
  const note = (into: number[], work: Promise<number>): void => {
    open.push(work.then((took) => void into.push(took)).catch((thrown: unknown) => void failures.push(String(thrown))));
  };
  const begin = performance.now();
  const at = (index: number, everyMs: number): Promise<void> => sleep(Math.max(0, begin + index * everyMs - performance.now()));
  const visits = async (): Promise<void> => {
    // They begin on time, whether or not those before have ended.
    for (let index = 0; index < perSecond * seconds; index += 1) await at(index, 1000 / perSecond).then(() => note(news, visit()));
  };
  const keys = async (): Promise<void> => {
    for (let index = 0; index < (seconds * 1000) / keyMs; index += 1) await at(index, keyMs).then(() => note(echoes, echo()));
  };
  await Promise.all([visits(), keys()]);
  await Promise.all(open);
  return { news, echoes };
}

process.on("message", (ask: SessionsAsk) => {
  const work = ask.do === "hold" ? hold(ask.count).then(() => ({ news: [], echoes: [] })) : churn(ask.perSecond, ask.seconds);
  void work.then((done) => process.send?.({ held: held.length, failures, ...done } satisfies SessionsTold));
});
process.on("disconnect", () => process.exit());
