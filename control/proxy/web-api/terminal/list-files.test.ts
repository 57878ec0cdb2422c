import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import type { Attributes } from "../../../../core/sftp/attributes.ts";
import { decodeRequest } from "../../../../core/sftp/request.ts";
import { encodeResponse, encodeVersion, type NamedFile } from "../../../../core/sftp/response.ts";
import { SftpClient } from "../../../../core/sftp-client/sftp-client.ts";
import { listFiles } from "./list-files.ts";
import type { HostFiles } from "./open-files.ts";

const folder: Attributes = { mode: 0o040_755 };
const fileOf = (name: string | Buffer): NamedFile => ({ name: Buffer.from(name), longName: Buffer.from("x"), attributes: { mode: 0o100_644 } });

/** A host that states this whole path for each one, and lists these files, one in an answer. */
async function hostWith({ path = "/home", files = [] }: { readonly path?: string; readonly files?: readonly NamedFile[] }): Promise<HostFiles> {
  const [near, far] = duplexPair();
  const waiting = [...files];
  let isFirst = true;
  far.on("data", (packet: Buffer) => {
    if (isFirst) far.write(encodeVersion(new Map()));
    else far.write(encodeResponse(answer(decodeRequest(packet.subarray(4)))));
    isFirst = false;
  });
  const answer = ({ id, type }: ReturnType<typeof decodeRequest>): Parameters<typeof encodeResponse>[0] => {
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
  const { entries, isCut } = await listFiles(host, { path: "." });
  expect([entries.length, isCut]).toEqual([41, true]);
  host.close();
});

test("a whole path that no host has is refused", async () => {
  const host = await hostWith({ path: `/${"a".repeat(100_000)}` });
  await expect(listFiles(host, { path: "." })).rejects.toMatchObject({
    code: "invalid",
    message: "web-1 states a path of 100001 bytes; 4096 are allowed",
  });
  host.close();
});
