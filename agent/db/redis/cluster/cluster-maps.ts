import { markedHost } from "../../../../core/databases/redis/member-marks.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type Command, wordAt } from "../command.ts";
import type { ClusterView } from "./cluster-view.ts";
import { encodeValue, isList, type RespList, type RespText, type RespValue, readValue, textOf } from "./resp-value.ts";

/** Replies that state where members are. */
export type ClusterMap = "slots" | "shards" | "nodes" | "replicas";

const maps = new Map<string, ClusterMap>([
  ["slots", "slots"],
  ["shards", "shards"],
  ["nodes", "nodes"],
  ["replicas", "replicas"],
  ["slaves", "replicas"],
]);

/** Which of these a command asks for; undefined: none. Pure. */
export function clusterMapOf(command: Command): ClusterMap | undefined {
  return wordAt(command, 0) === "cluster" ? maps.get(wordAt(command, 1)) : undefined;
}

/** A reply with the members' local ports in it. Throws `invalid` for what cannot be read, `limit`. */
export function localMap(map: ClusterMap, reply: Buffer, view: ClusterView): Buffer {
  return encodeValue(localValue[map](readValue(reply), view));
}

const localValue: Readonly<Record<ClusterMap, (value: RespValue, view: ClusterView) => RespValue>> = {
  slots: (value, view) => mapItems(value, (range) => localRange(range, view)),
  shards: (value, view) => mapItems(value, (shard) => mapField(shard, "nodes", (nodes) => mapItems(nodes, (node) => localNode(node, view)))),
  nodes: (value, view) => localLines(value, view),
  replicas: (value, view) => mapItems(value, (line) => localLines(line, view)),
};

/** first, last, and members: host, port, id, and further names of it, which are left out. */
function localRange(range: RespValue, view: ClusterView): RespValue {
  let index = 0;
  return mapItems(range, (item) => {
    index += 1;
    return index <= 2 ? item : localSlotMember(item, view);
  });
}

function localSlotMember(member: RespValue, view: ClusterView): RespValue {
  const { type, items } = listOf(member);
  const [host, port, ...rest] = items;
  if (host === undefined) throw unreadable();
  const others = rest.map((one) => (isList(one) ? { type: one.type, items: [] } : one));
  return { type, items: [view.host(host), view.port(textOf(host) ?? "", port), ...others] };
}

/** Fields of one member in SHARDS: a map, or names and values in turn. */
function localNode(node: RespValue, view: ClusterView): RespValue {
  const { type, items } = listOf(node);
  const fields = new Map<string, RespValue>();
  for (let at = 0; at + 1 < items.length; at += 2) {
    const [name, value] = [textOf(items[at]), items[at + 1]];
    if (name !== undefined && value !== undefined) fields.set(name, value);
  }
  // The agent's connections have TLS, and the local ones do not.
  const [tlsPort, plainPort] = [fields.get("tls-port"), fields.get("port")];
  const endpoint = textOf(fields.get("endpoint")) ?? "";
  const host = endpoint === "" || endpoint === "?" ? (textOf(fields.get("ip")) ?? "") : endpoint;
  const local = new Map<string, RespValue>();
  for (const [name, value] of fields) {
    if (name === "tls-port" || name === "port") local.set("port", view.port(host, tlsPort ?? plainPort));
    else if (name === "ip" || name === "endpoint") local.set(name, view.host(value));
    else if (name !== "hostname") local.set(name, value);
  }
  return { type, items: [...local].flatMap(([name, value]) => [bulk(Buffer.from(name)), value]) };
}

/** Lines of CLUSTER NODES: `id ip:port@busport,hostname flags …`. */
function localLines(value: RespValue, view: ClusterView): RespText {
  if (isList(value) || value.bytes === undefined) throw unreadable();
  const marks: Buffer[] = [];
  const parts: Buffer[] = [];
  for (const line of value.bytes.toString("latin1").split(/(?<=\n)/)) {
    const { before, host, port, bus, after } = nodeLine(line) ?? {};
    if (host === undefined || port === undefined || port === "0") {
      parts.push(Buffer.from(line, "latin1"));
      continue;
    }
    const mark = view.mark(host, port);
    marks.push(mark);
    parts.push(Buffer.from(`${before} ${markedHost}:`, "latin1"), mark, Buffer.from(`${bus} ${after}`, "latin1"));
  }
  const bytes = Buffer.concat(parts);
  return { type: value.type, bytes, width: bytes.length - view.hidden(marks) };
}

export interface NodeLine {
  readonly before: string;
  readonly host: string;
  readonly port: string;
  /** With its `@`; empty before Redis 4. */
  readonly bus: string;
  /** Empty: none. */
  readonly hostname: string;
  readonly flags: readonly string[];
  readonly after: string;
}

/** Longest field with an address: an address, a name and what follows it. */
const maxAddressField = 1024;

/** One line of CLUSTER NODES; undefined for another one. Pure. */
export function nodeLine(line: string): NodeLine | undefined {
  const first = line.indexOf(" ");
  const second = line.indexOf(" ", first + 1);
  if (first < 1 || second < 0 || second - first > maxAddressField) return undefined;
  const [, host, port, bus = "", hostname = ""] = /^([^\s,@]*):(\d{1,5})(@\d{1,5})?(?:,([^,]*))?/.exec(line.slice(first + 1, second)) ?? [];
  if (host === undefined || port === undefined) return undefined;
  const after = line.slice(second + 1);
  return { before: line.slice(0, first), host, port, bus, hostname, flags: (after.split(" ", 1)[0] ?? "").split(","), after };
}

function mapItems(value: RespValue, change: (item: RespValue) => RespValue): RespList {
  const { type, items } = listOf(value);
  return { type, items: items.map(change) };
}

/** A map, or names and values in turn, with one value changed. */
function mapField(value: RespValue, name: string, change: (item: RespValue) => RespValue): RespList {
  const { type, items } = listOf(value);
  return { type, items: items.map((item, index) => (index % 2 === 1 && textOf(items[index - 1]) === name ? change(item) : item)) };
}

function listOf(value: RespValue): RespList {
  if (isList(value)) return value;
  throw unreadable();
}

function bulk(bytes: Buffer): RespText {
  return { type: "$", bytes };
}

function unreadable(): PlatformError {
  return new PlatformError("invalid", "the cluster's answer about its members cannot be read");
}
