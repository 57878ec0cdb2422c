import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import type { KubeObject } from "./kube-api.ts";
import { beginKube } from "./kube-client.ts";
import type { Entrance } from "./kube-platform.ts";

/** When the event of each object came, by its name. */
interface Watching {
  readonly seen: ReadonlyMap<string, number>;
  /** When the watch ended; undefined: it goes on. */
  readonly ended: () => number | undefined;
}

/** Watches the ConfigMaps of a namespace. Without `timeoutSeconds`, API servers end watches after half an hour to an hour. */
export async function watchMaps(entrance: Entrance, namespace: string): Promise<Watching> {
  const path = `/api/v1/namespaces/${namespace}/configmaps?watch=1&timeoutSeconds=5000`;
  const begun = await beginKube(entrance, path, { headers: { accept: "application/json" } });
  begun.end();
  const [response] = (await once(begun, "response")) as [IncomingMessage];
  const seen = new Map<string, number>();
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  const lines = createInterface({ input: response });
  let ended: number | undefined;
  lines.on("close", () => {
    ended = performance.now();
  });
  // The end of an agent.
  lines.on("error", () => {});
  lines.on("line", (line) => {
    const { object } = JSON.parse(line) as { object: KubeObject };
    seen.set(object.metadata.name, performance.now());
  });
  return { seen, ended: () => ended };
}

type Watches = Readonly<Record<"through" | "directly", Watching>>;

/** How much later the event of an object came through us, ms. Throws until both watches have it. */
export function lag(name: string, watches: Watches): number {
  const [through, directly] = [watches.through.seen.get(name), watches.directly.seen.get(name)];
  if (through !== undefined && directly !== undefined) return through - directly;
  throw new Error(`it came ${through === undefined ? "not " : ""}through us, and ${directly === undefined ? "not " : ""}directly`);
}
