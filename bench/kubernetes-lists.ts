import type { ClientHttp2Stream } from "node:http2";
import { gunzipSync } from "node:zlib";
import { type KubeRequests, openKubeRequests } from "./kube-requests.ts";
import type { KubernetesWorld, KubeWay } from "./kubernetes-world.ts";
import { figure, interleave, ratio, spread } from "./measure.ts";

export interface ListsOptions {
  readonly rounds: number;
}

/** What kubectl asks with. */
const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
const pageSize = 500;

/** Figures of each way, in rounds' order. */
type Figures = Readonly<Record<"ours" | "filtered" | "theirs", number[]>>;

/** Lists of pods: `kubectl get pods`, its requests alone, and one response with everything. */
export async function kubernetesLists(world: KubernetesWorld, { rounds }: ListsOptions): Promise<string> {
  const most = Math.max(...world.filled.keys());
  const rows: string[] = [];
  for (const [count, namespace] of world.filled) {
    const pods = `${count.toLocaleString("en")} pod${count === 1 ? "" : "s"}`;
    const beside = async (measure: (way: keyof Figures) => Promise<number>): Promise<Figures> =>
      await interleave(rounds, { ours: () => measure("ours"), filtered: () => measure("filtered"), theirs: () => measure("theirs") });
    const wanted = (way: keyof Figures): number => (way === "filtered" ? Math.ceil(count / 2) : count);
    const command = await beside((way) => getPods(world[way], namespace, wanted(way)));
    rows.push(rowOf(`\`kubectl get pods\`, ${pods}`, command));
    // Not before: a connection without a request does not stay.
    using ours = await openKubeRequests(world.ours.entrance);
    using filtered = await openKubeRequests(world.filtered.entrance);
    using theirs = await openKubeRequests(world.theirs.entrance);
    const requests = { ours, filtered, theirs };
    const alone = await beside((way) => pages(requests[way], namespace, wanted(way)));
    rows.push(rowOf(`its requests alone, ${pods}`, alone));
    if (count < most) continue;
    let megabytes = 0;
    const firsts: Figures = { ours: [], filtered: [], theirs: [] };
    const whole = await beside(async (way) => {
      const { bytes, first, end } = await readWhole(requests[way], namespace);
      if (way === "theirs") megabytes = bytes / 1e6;
      firsts[way].push(first);
      return end;
    });
    const title = `all in one response of ${figure(megabytes, 0)} MB`;
    rows.push(rowOf(`${title}: first byte`, firsts), rowOf(`${title}: its end`, whole));
  }
  return `Lists, ms, ${rounds} interleaved rounds. kubectl asks for tables in pages of ${pageSize}, compressed; what comes in one response is JSON, uncompressed. Ours with
kubectl has the start of its exec plugin in it. The filtered role shows half of the pods. Aim: 1.1 × for a role that allows everything.

| | ours | filtered | \`ssh -L\` | ours to it | filtered to it |
|---|---|---|---|---|---|
${rows.join("\n")}
`;
}

function rowOf(title: string, all: Figures): string {
  const medians = [all.ours, all.filtered, all.theirs].map((values) => figure(spread(values).median, 1));
  const ratios = [all.ours, all.filtered].map((values) => `${figure(ratio(values, all.theirs).median)} ×`);
  return `| ${[title, ...medians, ...ratios].join(" | ")} |`;
}

/** ms. Throws for another number of pods. */
async function getPods(way: KubeWay, namespace: string, wanted: number): Promise<number> {
  const begin = performance.now();
  const { stdout } = await way.kubectl(["get", "pods", "-n", namespace, "--no-headers"]);
  const took = performance.now() - begin;
  check(stdout.trimEnd().split("\n").length, wanted);
  return took;
}

function check(found: number, wanted: number): void {
  if (found !== wanted) throw new Error(`${found} pods in place of ${wanted}`);
}

/** Time of all pages, as kubectl asks for them, one after the other; ms. Throws for another number of pods. */
async function pages(requests: KubeRequests, namespace: string, wanted: number): Promise<number> {
  let [took, found, more] = [0, 0, ""];
  do {
    const begin = performance.now();
    const path = `/api/v1/namespaces/${namespace}/pods?limit=${pageSize}${more === "" ? "" : `&continue=${more}`}`;
    const stream = await requests.get(path, { accept: table, "accept-encoding": "gzip" });
    const body = Buffer.concat((await stream.toArray()) as Buffer[]);
    took += performance.now() - begin;
    const page = JSON.parse((body[0] === 0x1f ? gunzipSync(body) : body).toString()) as { metadata: { continue?: string }; rows: object[] };
    found += page.rows.length;
    more = page.metadata.continue ?? "";
  } while (more !== "");
  check(found, wanted);
  return took;
}

interface Whole {
  readonly bytes: number;
  /** ms. */
  readonly first: number;
  readonly end: number;
}

async function readWhole(requests: KubeRequests, namespace: string): Promise<Whole> {
  const begin = performance.now();
  const stream: ClientHttp2Stream = await requests.get(`/api/v1/namespaces/${namespace}/pods`, { accept: "application/json" });
  let [bytes, first, last] = [0, 0, 0];
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes === 0) first = performance.now() - begin;
    bytes += chunk.length;
    last = chunk.at(-1) ?? 0;
  }
  // `}`, or the end of a line after it.
  if (stream.rstCode !== 0 || (last !== 0x7d && last !== 0x0a)) throw new Error(`a list of ${bytes} bytes that is not whole`);
  return { bytes, first, end: performance.now() - begin };
}
