import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Options } from "../cli/command.ts";
import { memoryIo } from "../cli/memory-io.ts";
import { loadProfile } from "../cli/profile/choose-profile.ts";
import type { Profile } from "../cli/profile/profile.ts";
import { TunnelAgents } from "../cli/tsh/db/tunnel-agents.ts";
import { logicalDatabase } from "./database-world.ts";

/*
 * Many clients in one process, with tsh's own modules: sessions at a database that stay, and new ones at a steady pace. node database-sessions-load.ts TSH_HOME…, spoken to over the channel of child_process; the homes take turns.
 */

type Database = "pg" | "cache";
export type DatabaseAsk =
  | { readonly do: "hold"; readonly at: Database; readonly count: number }
  | { readonly do: "drop" }
  | { readonly do: "churn"; readonly perSecond: number; readonly seconds: number };
export interface DatabaseTold {
  readonly held: number;
  /** From the dialling to the answer of a query, each; ms. */
  readonly news: readonly number[];
  readonly failures: readonly string[];
}

const profiles = await Promise.all(process.argv.slice(2).map((home) => loadProfile(home)));
const io = memoryIo();
/** None were given. */
const options: Options = { text: () => undefined, list: () => [], values: () => [], flag: () => false, count: () => 0 };
/** Sessions that begin at the same time; time for an answer of the server, ms. */
const [atOnce, answerMs] = [8, 20_000] as const;
const held: Duplex[] = [];
const failures: string[] = [];
let turn = 0;

/** As of a `tsh proxy db` for each home and database. */
const tunnels = new Map<string, TunnelAgents>();

function agentsOf(profile: Profile, name: Database): TunnelAgents {
  const key = `${profile.facts.user} ${name}`;
  const source = { current: async () => profile };
  const made = tunnels.get(key) ?? new TunnelAgents({ io, options }, { database: { name }, source, user: "reader", name: "" });
  tunnels.set(key, made);
  return made;
}

async function connect(name: Database): Promise<Duplex> {
  turn += 1;
  const profile = profiles[turn % profiles.length];
  if (profile === undefined) throw new Error("no home was given");
  const { stream: socket } = await agentsOf(profile, name).open(Buffer.alloc(0));
  if (name === "cache") await ask(socket, "*3\r\n$4\r\nAUTH\r\n$6\r\nreader\r\n$7\r\nhunter2\r\n", "+OK\r\n");
  else await ask(socket, message("", `\0\x03\0\0user\0reader\0database\0${logicalDatabase}\0\0`), ready);
  return socket;
}

/** ReadyForQuery of PostgreSQL, outside of a transaction. */
const ready = "Z\0\0\0\x05I";

/** `type | int32 length | body` of PostgreSQL. */
function message(type: string, body: string): string {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return type + length.toString("latin1") + body;
}

/** Sends this and waits until the answer ends so. */
async function ask(socket: Duplex, request: string, end: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let got = "";
  const onData = (chunk: Buffer): void => {
    got += chunk.toString("latin1");
    if (got.endsWith(end)) resolve();
  };
  const onClose = (): void => reject(new Error(`a session ended after ${JSON.stringify(got.slice(-200))}`));
  const timer = setTimeout(() => reject(new Error(`no answer within ${answerMs} ms`)), answerMs);
  socket.on("data", onData).once("close", onClose).resume().write(request, "latin1");
  await promise.finally(() => {
    clearTimeout(timer);
    socket.off("data", onData).off("close", onClose);
  });
}

async function hold(name: Database, count: number): Promise<void> {
  let begun = held.length;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      try {
        const socket = await connect(name);
        socket.once("close", () => {
          if (held.includes(socket)) failures.push("a session that should stay has ended");
        });
        held.push(socket.resume());
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
  const socket = await connect("pg");
  await ask(socket, message("Q", "select 1\0"), ready);
  const took = performance.now() - began;
  socket.end(message("X", ""), "latin1", () => socket.destroy());
  return took;
}

async function churn(perSecond: number, seconds: number): Promise<readonly number[]> {
  const [news, open]: [number[], Promise<void>[]] = [[], []];
  const begin = performance.now();
  for (let index = 0; index < perSecond * seconds; index += 1) {
    // They begin on time, whether or not those before have ended.
    await sleep(Math.max(0, begin + (index * 1000) / perSecond - performance.now()));
    open.push(
      visit()
        .then((took) => void news.push(took))
        .catch((thrown: unknown) => void failures.push(String(thrown))),
    );
  }
  await Promise.all(open);
  return news;
}

async function answer(asked: DatabaseAsk): Promise<readonly number[]> {
  if (asked.do === "churn") return await churn(asked.perSecond, asked.seconds);
  if (asked.do === "hold") await hold(asked.at, asked.count);
  else for (const socket of held.splice(0)) socket.destroy();
  return [];
}

process.on("message", (asked: DatabaseAsk) => {
  void answer(asked).then((news) => process.send?.({ held: held.length, news, failures } satisfies DatabaseTold));
});
process.on("disconnect", () => process.exit());
