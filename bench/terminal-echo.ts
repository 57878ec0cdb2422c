import { once } from "node:events";
import { WebSocket } from "ws";
import { openAppBrowser } from "../test/world/app-browser.ts";
import { start } from "../test/world/program.ts";
import { until } from "../test/world/until.ts";
import { figure, interleave, percentile, ratio, spread } from "./measure.ts";
import { ourHost, type SideBySide, startSideBySide } from "./side-by-side.ts";

export interface TerminalEchoOptions {
  readonly rounds: number;
  /** Keys of a round, one after the other. */
  readonly keys: number;
}

/** A terminal in which `cat` runs: the terminal itself echoes each key. */
export interface Terminal extends AsyncDisposable {
  type(text: string): void;
  /** Called with each piece of output. */
  onOutput: (text: string) => void;
}

/** A key's echo in the terminal of the Web UI, as its page gets it, beside a stock ssh through a jump host. */
export async function terminalEcho({ rounds, keys }: TerminalEchoOptions): Promise<string> {
  await using world = await startSideBySide();
  await using ours = await openBrowserTerminal(world);
  await using theirs = await openSsh(world);
  const late: Record<"ours" | "theirs", number[]> = { ours: [], theirs: [] };
  const measure = async (which: "ours" | "theirs", terminal: Terminal): Promise<number> => {
    const times = await typeKeys(terminal, keys);
    late[which].push(percentile(times, 99));
    return percentile(times, 50);
  };
  const all = await interleave(rounds, { ours: () => measure("ours", ours), theirs: () => measure("theirs", theirs) });
  const row = (title: string, values: readonly number[], p99: readonly number[]): string =>
    `| ${title} | ${figure(spread(values).median)} | ${figure(spread(p99).median)} |`;
  return `## A key's echo in the browser's terminal

${rounds} interleaved rounds of ${keys} keys, one after the other, in a terminal in which \`cat\` runs; ms until the echo is there. Ours: the WebSocket of the
Web UI's page → proxy (SSH) → tunnel → agent, recorded. Beside it: stock ssh through a jump host.

| terminal | p50 | p99 |
|---|---|---|
${row("Web UI", all.ours, late.ours)}
${row("`ssh -tt -J jump host`", all.theirs, late.theirs)}

Ratio, round by round: **${figure(ratio(all.ours, all.theirs).median)} ×**.
`;
}

/** Time of each key, ms. */
export async function typeKeys(terminal: Terminal, keys: number): Promise<readonly number[]> {
  const times: number[] = [];
  let line = "";
  for (let key = 0; key < keys; key += 1) {
    // A different one each time, so that a late byte does not pass for the echo of the next key.
    const letter = String.fromCharCode(97 + (key % 26));
    const begin = performance.now();
    await echoOf(terminal, letter, letter);
    times.push(performance.now() - begin);
    line += letter;
  }
  // The terminal's echo of the end of the line, and the line from `cat`.
  await echoOf(terminal, "\r", `\r\n${line}\r\n`);
  return times;
}

/** Types, and waits for this output. Throws Error after five seconds. */
async function echoOf(terminal: Terminal, text: string, wanted: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error(`no echo of ${JSON.stringify(text)}`)), 5_000);
  let output = "";
  terminal.onOutput = (more) => {
    output += more;
    if (output.includes(wanted)) resolve();
  };
  terminal.type(text);
  await promise.finally(() => clearTimeout(timer));
}

/** Has the shell of a new terminal become `cat`, once it has loaded its profile. `shown`: all that the terminal has shown. */
export async function becomeCat(terminal: Terminal, shown: () => string): Promise<Terminal> {
  await until("there is a prompt", () => shown() !== "");
  terminal.type("stty -echoctl; echo be''gun; exec cat\r");
  await until("cat runs", () => shown().includes("begun\r\n"));
  return terminal;
}

async function openBrowserTerminal({ cluster, login }: SideBySide): Promise<Terminal> {
  const user = await cluster.user("visitor", { logins: login, noLogin: true });
  const ca = await cluster.admin("auth", "export", "--type=tls-host");
  const site = { address: "127.0.0.1", port: cluster.ports.web, host: "127.0.0.1", ca };
  const { cookie, token } = await openAppBrowser(site, user);
  const own = `127.0.0.1:${cluster.ports.web}`;
  const socket = new WebSocket(`wss://${own}/webapi/v1/terminal`, { ca, headers: { cookie, origin: `https://${own}` } });
  await once(socket, "open");
  const [node] = JSON.parse(await cluster.admin("get", "nodes", "--format=json")) as { metadata: { name: string } }[];
  let output = "";
  const terminal: Terminal = {
    type: (text) => socket.send(Buffer.from(text)),
    onOutput: () => {},
    [Symbol.asyncDispose]: async () => {
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
  };
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) return;
    const text = data.toString("latin1");
    output += text;
    socket.send(JSON.stringify({ type: "read", bytes: data.length }));
    terminal.onOutput(text);
  });
  socket.send(JSON.stringify({ token }));
  socket.send(JSON.stringify({ type: "open", node: node?.metadata.name ?? ourHost, login, cols: 80, rows: 24 }));
  return await becomeCat(terminal, () => output);
}

async function openSsh({ theirs, env }: SideBySide): Promise<Terminal> {
  const child = start("ssh", [...theirs.options, "-tt", theirs.target], { env });
  let output = "";
  const terminal: Terminal = {
    type: (text) => void child.stdin?.write(text),
    onOutput: () => {},
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, "close");
      child.kill();
      await closed;
    },
  };
  child.stdout?.on("data", (chunk: Buffer) => {
    const text = chunk.toString("latin1");
    output += text;
    terminal.onOutput(text);
  });
  return await becomeCat(terminal, () => output);
}
