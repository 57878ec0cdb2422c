import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Attributes } from "../../../../core/sftp/attributes.ts";
import { decodeRequest } from "../../../../core/sftp/request.ts";
import { encodeResponse, encodeVersion, type NamedFile } from "../../../../core/sftp/response.ts";
import { SftpClient } from "../../../../core/sftp-client/sftp-client.ts";
import { listFiles } from "./list-files.ts";
import type { HostFiles } from "./open-files.ts";

const folder: Attributes = { mode: 0o040_755 };
const fileOf = (name: string | Buffer): NamedFile => ({ name: Buffer.from(name), longName: Buffer.from("x"), attributes: { mode: 0o100_644 } });

interface HostFacts {
  /** The whole path of each one. */
  readonly path?: string;
  /** Listed one in an answer. */
  readonly files?: readonly NamedFile[];
  /** Called with each request. */
  readonly asked?: (type: string) => void;
}

async function hostWith({ path = "/home", files = [], asked = () => {} }: HostFacts): Promise<HostFiles> {
  const [near, far] = duplexPair();
  const waiting = [...files];
  let isFirst = true;
  far.on("data", (packet: Buffer) => {
    if (isFirst) far.write(encodeVersion(new Map()));
    else far.write(encodeResponse(answer(decodeRequest(packet.subarray(4)))));
    isFirst = false;
  });
  const answer = ({ id, type }: ReturnType<typeof decodeRequest>): Parameters<typeof encodeResponse>[0] => {
    asked(type);
    if (type === "realpath") return { type: "name", id, files: [fileOf(path)] };
    if (type === "stat") return { type: "attributes", id, attributes: folder };
    if (type === "opendir") return { type: "handle", id, handle: Buffer.of(1) };
    const next = type === "readdir" ? waiting.shift() : undefined;
    if (next !== undefined) return { type: "name", id, files: [next] };
    return { type: "status", id, status: type === "close" ? "ok" : "end_of_file", message: "" };
  };
  return { client: await SftpClient.open(near, "web-1"), host: "web-1", close: () => near.destroy() };
}

test("of a host that lists endless names no more is read than a folder has", async () => {
  const files = Array.from({ length: 100 }, (_, at) => fileOf(`${at}${"a".repeat(200_000)}`));
  const host = await hostWith({ files });
  const { entries, isCut } = await listFiles(host, { path: "." }, () => {});
  expect([entries.length, isCut]).toEqual([41, true]);
  host.close();
});

test("a whole path that no host has is refused", async () => {
  const host = await hostWith({ path: `/${"a".repeat(100_000)}` });
  await expect(listFiles(host, { path: "." }, () => {})).rejects.toMatchObject({
    code: "invalid",
    message: "web-1 states a path of 100001 bytes; 4096 are allowed",
  });
  host.close();
});

test("what it holds is counted before it is kept, and no more is read once there is no room", async () => {
  const files = ["a", "bb", "ccc"].map(fileOf);
  const held: number[] = [];
  const roomy = await hostWith({ files });
  await listFiles(roomy, { path: "." }, (bytes) => void held.push(bytes));
  const paths = ["/home/a", "/home/bb", "/home/ccc"].map(({ length }) => 2 * length);
  expect(held).toEqual([513, 514, 515, ...paths]);
  const asked: string[] = [];
  const full = await hostWith({ files, asked: (type) => void asked.push(type) });
  const hold = (bytes: number): void => {
    if (bytes === 514) throw new PlatformError("limit", "no room");
  };
  await expect(listFiles(full, { path: "." }, hold)).rejects.toMatchObject({ code: "limit" });
  expect(asked).toEqual(["realpath", "stat", "opendir", "readdir", "readdir", "close"]);
  for (const host of [roomy, full]) host.close();
});

test("links are followed a part of them at a time, and lead to folders that come first", async () => {
  const link = (name: string): NamedFile => ({ ...fileOf(name), attributes: { mode: 0o120_777 } });
  const files = [fileOf("0"), ...Array.from({ length: 600 }, (_, at) => link(`link-${at}`))];
  let [open, most] = [0, 0];
  const host = await hostWith({ files });
  const { client } = host;
  const counted = new Proxy(client, {
    get: (of, name) => (name === "ask" ? count : Reflect.get(of, name)),
  });
  const count: typeof client.ask = async (request) => {
    open += 1;
    most = Math.max(most, open);
    try {
      return await client.ask(request);
    } finally {
      open -= 1;
    }
  };
  const { entries } = await listFiles({ ...host, client: counted }, { path: "." }, () => {});
  expect([entries.length, entries.at(-1)?.name, entries[0]?.kind, most]).toEqual([601, "0", "folder", 256]);
  host.close();
});
