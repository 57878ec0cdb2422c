import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";

/*
 * Clients of the version server, each with an address and a connection of its own. Every client requests once a second, on time whether or
 * not the answer before has come; latency counts from that time, so that a late start of this process counts too.
 * node version-clients.ts HOST PORT PATH ANSWER, spoken to over the channel of child_process.
 */

export type ClientsAsk =
  /** One client for each query; an empty one is allowed. */
  { readonly do: "connect"; readonly queries: readonly string[] } | { readonly do: "run"; readonly seconds: number };
export interface ClientsAnswer {
  /** Of each request that was answered as expected, ms. */
  readonly latencies: readonly number[];
  /** All other requests. */
  readonly failed: number;
}

interface Client {
  readonly socket: TLSSocket;
  readonly request: string;
  /** Times at which its unanswered requests were due. */
  readonly due: number[];
  unread: string;
}

/** Connections opened at the same time. */
const atOnce = 16;
const answerMs = 10_000;
const [host = "", port = "", path = "", expected = ""] = process.argv.slice(2);
let clients: readonly Client[] = [];
let latencies: number[] = [];
let failed = 0;

async function open(query: string, index: number): Promise<Client> {
  // Limits are for each address.
  const localAddress = `127.1.${index >> 8}.${index & 255}`;
  const tcp = connect({ host, port: Number(port), localAddress, noDelay: true });
  const socket = connectTls({ socket: tcp, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  const request = `GET ${path}${query} HTTP/1.1\r\nHost: ${host}:${port}\r\nAccept: */*\r\nUser-Agent: platform\r\n\r\n`;
  const client: Client = { socket, request, due: [], unread: "" };
  socket.on("data", (chunk: Buffer) => read(client, chunk.toString("latin1")));
  socket.on("error", () => {});
  return client;
}

function read(client: Client, text: string): void {
  client.unread += text;
  for (;;) {
    const head = client.unread.indexOf("\r\n\r\n");
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(client.unread)?.[1]);
    if (head < 0 || client.unread.length < head + 4 + length) return;
    const body = client.unread.slice(head + 4, head + 4 + length);
    const isExpected = client.unread.startsWith("HTTP/1.1 200 ") && body === expected;
    client.unread = client.unread.slice(head + 4 + length);
    const due = client.due.shift();
    if (isExpected && due !== undefined) latencies.push(performance.now() - due);
    else failed += 1;
  }
}

async function connectAll(queries: readonly string[]): Promise<void> {
  for (const { socket } of clients) socket.destroy();
  const made: Client[] = [];
  const left = [...queries.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) made.push(await open(next[1], next[0]));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  clients = made;
}

async function requestAll(seconds: number): Promise<ClientsAnswer> {
  [latencies, failed] = [[], 0];
  const begin = performance.now();
  const total = clients.length * seconds;
  for (let sent = 0; sent < total; await sleep(1)) {
    for (; sent < total; sent += 1) {
      const due = begin + (sent * 1000) / clients.length;
      const client = clients[sent % clients.length];
      if (due > performance.now() || client === undefined) break;
      client.due.push(due);
      client.socket.write(client.request);
    }
  }
  for (const end = performance.now() + answerMs; latencies.length + failed < total && performance.now() < end; ) await sleep(20);
  for (const client of clients) client.due.length = 0;
  return { latencies, failed: total - latencies.length };
}

process.on("message", (ask: ClientsAsk) => {
  const work = ask.do === "connect" ? connectAll(ask.queries).then(() => ({ latencies: [], failed: 0 })) : requestAll(ask.seconds);
  work.then(
    (answer: ClientsAnswer) => process.send?.(answer),
    (thrown: unknown) => {
      process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
      process.exit(1);
    },
  );
});
process.on("disconnect", () => process.exit(0));
