import { writeFile } from "node:fs/promises";
import { cpus, release } from "node:os";
import { resolve } from "node:path";
import { agentMemory } from "./agent-memory.ts";
import { databases } from "./databases.ts";
import { fileCopy } from "./file-copy.ts";
import { forwardedConnection } from "./forwarded-connection.ts";
import { idleConnection } from "./idle-connection.ts";
import { kubernetes } from "./kubernetes.ts";
import { manyAgents } from "./many-agents.ts";
import { manySessions } from "./many-sessions.ts";
import { newChannel } from "./new-channel.ts";
import { parallelStreams } from "./parallel-streams.ts";
import { relayThroughput } from "./relay.ts";
import { sshLoginTime } from "./ssh-login.ts";
import { startup } from "./startup.ts";
import { terminalEcho } from "./terminal-echo.ts";
import { upgradeUnderLoad } from "./upgrade-under-load.ts";
import { versionRequests } from "./version-requests.ts";
import { web } from "./web.ts";

/** `make bench [only]`: measures everything, or the named section, and writes bench/RESULTS.md when it measured everything. */
const sections: Readonly<Record<string, () => Promise<string>>> = {
  relay: () => relayThroughput(7),
  login: () => sshLoginTime(21),
  channels: () => newChannel(200),
  forwards: () => forwardedConnection(300),
  copies: () => fileCopy(5),
  streams: () => parallelStreams(5),
  startup: () => startup(21),
  memory: () => agentMemory(5),
  versions: () => versionRequests({ clients: 1000, seconds: 20, megabytesPerSecond: 200, rounds: 3 }),
  sessions: () => manySessions({ held: 500, perSecond: 50, seconds: 30 }),
  databases: () =>
    databases({
      queries: { rounds: 5, seconds: 4 },
      copies: { rounds: 3, megabytes: 500, requests: 50_000 },
      sessions: { idle: { pg: 60, cache: 300 }, held: 500, perSecond: 20, seconds: 60 },
    }),
  web: () => web({ rounds: 5, requests: { seconds: 5, connections: 16 }, echoes: { sockets: 200, messages: 50 } }),
  kubernetes: () =>
    kubernetes({
      pods: [1, 1000, 10_000],
      lists: { rounds: 5 },
      streams: { rounds: 9, keys: 100, copies: { rounds: 3, megabytes: 200 } },
      watches: { count: 200 },
      atOnce: { rounds: 3, count: 40 },
    }),
  terminal: () => terminalEcho({ rounds: 9, keys: 200 }),
  upgrade: () => upgradeUnderLoad(2),
  idle: () => idleConnection({ rounds: 5 }),
  agents: () => manyAgents({ agents: 1000, rounds: 5, idleMs: 45_000 }),
};

const only = process.argv[2];
const texts: string[] = [];
for (const [name, measure] of Object.entries(sections)) {
  if (only !== undefined && only !== name) continue;
  process.stderr.write(`${name} …\n`);
  const text = await measure();
  process.stdout.write(`${text}\n`);
  texts.push(text);
}
if (only === undefined) {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}, Linux ${release()}, Node ${process.versions.node}`;
  const head = `# Measurements

Written by \`make bench\` on ${new Date().toISOString().slice(0, 10)}: ${machine}. Each figure stands beside its peer of the same run; on a
shared machine the ratios hold, the absolute figures do not.
`;
  await writeFile(resolve(import.meta.dirname, "RESULTS.md"), [head, ...texts].join("\n"));
}
