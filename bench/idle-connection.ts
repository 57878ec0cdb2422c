import { memoryTricks } from "../test/architecture/private-parts.ts";
import { type IdleSizes, idleConnections } from "../test/world/idle-connections.ts";
import { spread } from "./measure.ts";

/** What each memory trick saves of the proxy's memory for one idle tunnel, against a server without it. */
export async function idleConnection({ connections = 300, rounds = 3 } = {}): Promise<string> {
  const tricks = memoryTricks.map(({ file }) => file);
  const measured = new Map<string, IdleSizes[]>(["", ...tricks].map((file) => [file, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [file, sizes] of measured) sizes.push(await idleConnections(file, connections));
  }
  const median = (file: string, kind: keyof IdleSizes): number => spread((measured.get(file) ?? []).map((one) => one[kind])).median;
  const saved = (file: string, kind: keyof IdleSizes): string => ((median(file, kind) - median("", kind)) / connections).toFixed(1);
  return `## What memory tricks save of an idle connection

A server that accepts tunnels as the proxy does (TLS, SSH in it, one channel), from source, and its clients in another process; KiB for each of
${connections} idle connections, medians of ${rounds} runs, without the trick minus with it. A trick that saves less than 2 KiB is deleted
(test/architecture/private-parts.ts).

| trick | objects, KiB | native, KiB |
|---|---|---|
${tricks.map((file) => `| \`${file}\` | ${saved(file, "objects")} | ${saved(file, "native")} |`).join("\n")}
`;
}
