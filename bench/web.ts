import { Readable } from "node:stream";
import { WebSocket } from "undici";
import { cpuOfTrees, figure, interleave, percentile, ratio, spread } from "./measure.ts";
import { largeMegabytes, largePath, startWebWorld, type WebWay } from "./web-world.ts";

export interface WebOptions {
  readonly rounds: number;
  /** Requests a second: time of each run, s, and connections. */
  readonly requests: { readonly seconds: number; readonly connections: number };
  /** WebSockets that are open, and messages that each of them echoes, one after the other. */
  readonly echoes: { readonly sockets: number; readonly messages: number };
}

/** Requests, downloads, uploads and WebSockets of a web application in a browser, beside nginx in front of `ssh -R`. */
export async function web({ rounds, requests, echoes }: WebOptions): Promise<string> {
  await using world = await startWebWorld();
  const { ours, theirs } = world;
  const row = async (title: string, measure: (way: WebWay) => Promise<number>, digits: number): Promise<string> => {
    const all = await interleave(rounds, { ours: () => measure(ours), theirs: () => measure(theirs) });
    const figures = [all.ours, all.theirs].map((values) => figure(spread(values).median, digits));
    return `| ${title} | ${figures.join(" | ")} | ${figure(ratio(all.ours, all.theirs).median)} × |`;
  };
  const late: Record<"ours" | "theirs", number[]> = { ours: [], theirs: [] };
  const cpu: Record<"ours" | "theirs", number[]> = { ours: [], theirs: [] };
  const perSecond = async (way: WebWay): Promise<number> => {
    const run = await requestsOf(way, requests);
    late[way === ours ? "ours" : "theirs"].push(run.late);
    cpu[way === ours ? "ours" : "theirs"].push(run.cpu);
    return run.perSecond;
  };
  const lateEchoes: Record<"ours" | "theirs", number[]> = { ours: [], theirs: [] };
  const echo = async (way: WebWay): Promise<number> => {
    const times = await echoesOf(way, echoes);
    lateEchoes[way === ours ? "ours" : "theirs"].push(percentile(times, 99));
    return percentile(times, 50);
  };
  const beside = (title: string, all: Record<"ours" | "theirs", number[]>): string =>
    `| ${title} | ${figure(spread(all.ours).median)} | ${figure(spread(all.theirs).median)} | ${figure(ratio(all.ours, all.theirs).median)} × |`;
  const rows = [
    await row("requests a second", perSecond, 0),
    beside("p99 of a request, ms", late),
    beside("processor time of a request, µs", cpu),
    await row("download, MB/s", downloadOf, 0),
    await row("upload, MB/s", uploadOf, 0),
    await row(`WebSocket echo of ${echoes.sockets} at once, median, ms`, echo, 2),
    beside("p99 of an echo, ms", lateEchoes),
  ];
  return `## Web applications

${rounds} interleaved rounds: requests over ${requests.connections} connections for ${requests.seconds} s, downloads and uploads of ${largeMegabytes} MB, and ${echoes.sockets} WebSockets with
${echoes.messages} messages each. Ours: a browser's session → proxy (TLS) → tunnel → agent → application, each request with a token and in the recording. Beside it: nginx
(TLS) → \`ssh -R\` → application. The client is one Node.js process for both. Processor time is that of control and agent, and of nginx, ssh and sshd; the application is of nginx, too, for uploads
of Node.js. "Ours" and "nginx" are the medians of the rounds, each of its own; "to it" is the median of the rounds' ratios. Where one of them differs much from round to round, as nginx's
p99 does, it is not the ratio of the two figures beside it.

| | ours | nginx, ssh -R | to it |
|---|---|---|---|
${rows.join("\n")}
`;
}

interface Requests {
  readonly perSecond: number;
  /** Of the slowest in a hundred, ms. */
  readonly late: number;
  /** Processor time on the way, µs for each. */
  readonly cpu: number;
}

/** One request after the other, on each connection. Throws for a response that is not the application's. */
async function requestsOf(way: WebWay, { seconds, connections }: WebOptions["requests"]): Promise<Requests> {
  await using stack = new AsyncDisposableStack();
  const dispatcher = stack.adopt(way.dispatcher(connections), (open) => open.destroy());
  const get = async (): Promise<void> => {
    const { statusCode, body } = await dispatcher.request({
      origin: `https://${way.web}`,
      path: "/",
      method: "GET",
      headers: { cookie: way.cookies.web },
    });
    if (statusCode !== 200) throw new Error(`${way.web} answered ${statusCode}`);
    await body.dump();
  };
  await Promise.all(Array.from({ length: connections }, get));
  const times: number[] = [];
  const cpuBefore = await cpuOfTrees(way.pids);
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const work = async (): Promise<void> => {
    for (let before = performance.now(); before < end; ) {
      await get();
      const now = performance.now();
      times.push(now - before);
      before = now;
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  const perSecond = (times.length / (performance.now() - begin)) * 1000;
  const cpu = (((await cpuOfTrees(way.pids)) - cpuBefore) / times.length) * 1e6;
  return { perSecond, late: percentile(times, 99), cpu };
}

/** MB/s. Throws for a response that is not whole. */
async function downloadOf(way: WebWay): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const dispatcher = stack.adopt(way.dispatcher(1), (open) => open.destroy());
  const begin = performance.now();
  const { body } = await dispatcher.request({ origin: `https://${way.web}`, path: largePath, method: "GET", headers: { cookie: way.cookies.web } });
  let bytes = 0;
  for await (const chunk of body) bytes += (chunk as Buffer).length;
  if (bytes !== largeMegabytes * 1_000_000) throw new Error(`${way.web} answered ${bytes} bytes`);
  return (bytes / 1e6 / (performance.now() - begin)) * 1000;
}

/** MB/s. Throws if the application did not get all of it. */
async function uploadOf(way: WebWay): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const dispatcher = stack.adopt(way.dispatcher(1), (open) => open.destroy());
  const block = Buffer.alloc(1_000_000, "x");
  const sent = Readable.from(Array.from({ length: largeMegabytes }, () => block));
  const begin = performance.now();
  const { body } = await dispatcher.request({
    origin: `https://${way.echo}`,
    path: "/",
    method: "POST",
    headers: { cookie: way.cookies.echo },
    body: sent,
  });
  const got = await body.text();
  if (got !== String(largeMegabytes * block.length)) throw new Error(`${way.echo} answered ${got}`);
  return ((largeMegabytes * block.length) / 1e6 / (performance.now() - begin)) * 1000;
}

/** Times between a message and its echo, ms. */
async function echoesOf(way: WebWay, { sockets, messages }: WebOptions["echoes"]): Promise<readonly number[]> {
  await using stack = new AsyncDisposableStack();
  const dispatcher = stack.adopt(way.dispatcher(sockets), (open) => open.destroy());
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`wss://${way.echo}/`, { dispatcher, headers: { cookie: way.cookies.echo } });
    const opened = Promise.withResolvers<void>();
    socket.onopen = () => opened.resolve();
    socket.onerror = (event) => opened.reject(new Error(`${way.echo} opened no WebSocket`, { cause: event.error }));
    await opened.promise;
    return socket;
  };
  const all = await Promise.all(Array.from({ length: sockets }, open));
  const times: number[] = [];
  await Promise.all(
    all.map(async (socket) => {
      for (let at = 0; at < messages; at += 1) {
        const echoed = Promise.withResolvers<void>();
        socket.onmessage = () => echoed.resolve();
        socket.onclose = () => echoed.reject(new Error(`${way.echo} closed a WebSocket`));
        const begin = performance.now();
        socket.send("a message of some forty characters or so");
        await echoed.promise;
        times.push(performance.now() - begin);
      }
    }),
  );
  for (const socket of all) {
    socket.onclose = null;
    socket.close();
  }
  return times;
}
