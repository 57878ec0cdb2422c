import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import type { Attributes } from "../../core/sftp/attributes.ts";
import type { Status } from "../../core/sftp/numbers.ts";
import { PacketBuffer } from "../../core/sftp/packet-buffer.ts";
import { decodeRequest, type Request } from "../../core/sftp/request.ts";
import { encodeResponse, encodeVersion, type Response } from "../../core/sftp/response.ts";
import { SftpClient } from "../../core/sftp-client/sftp-client.ts";
import { expandRemote } from "./copy-paths.ts";
import { ByteBudget } from "./copy-state.ts";
import { downloadFile } from "./download-file.ts";

type Answer = (request: Request) => Response;

/** A client of a server that answers in this way. */
async function clientOf(answer: Answer): Promise<SftpClient> {
  const [near, far] = duplexPair();
  const packets = new PacketBuffer();
  let isOpen = false;
  far.on("data", (chunk: Buffer) => {
    packets.filled(chunk.copy(packets.room()));
    for (let packet = packets.next(); packet !== undefined; packet = packets.next()) {
      far.write(isOpen ? encodeResponse(answer(decodeRequest(packet))) : encodeVersion(new Map()));
      isOpen = true;
    }
  });
  return await SftpClient.open(near, "box");
}

const status = (id: number, name: Status): Response => ({ type: "status", id, status: name, message: "" });

/** A file that holds `bytes`; `now`: its attributes when they are asked for. */
const fileOf =
  (bytes: Buffer, now: Attributes): Answer =>
  (request) => {
    const { id } = request;
    if (request.type === "open") return { type: "handle", id, handle: Buffer.of(1) };
    if (request.type === "fstat") return { type: "attributes", id, attributes: now };
    if (request.type !== "read") return status(id, "ok");
    const data = bytes.subarray(Number(request.offset), Number(request.offset) + request.length);
    return data.length === 0 ? status(id, "end_of_file") : { type: "data", id, data };
  };

/** Fetches a file that had ten bytes. */
async function fetched(answer: Answer): Promise<string> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-download-"));
  const target = join(folder.path, "file");
  const progress = { begin: () => {}, moved: () => {}, finish: () => {} };
  const facts = { client: await clientOf(answer), preserve: false, budget: new ByteBudget(1_000_000), progress };
  const attributes = { mode: 0o100_644, size: 10n, times: { accessed: 1, modified: 1 } };
  await downloadFile(facts, { source: Buffer.from("/file"), attributes, target: Buffer.from(target), name: "file" });
  return await readFile(target, "utf8");
}

test("a file that became shorter is an error, not a shorter copy", async () => {
  const shorter = { size: 4n, times: { accessed: 1, modified: 2 } };
  const rewritten = { size: 10n, times: { accessed: 1, modified: 2 } };
  for (const now of [shorter, rewritten]) {
    await expect(fetched(fileOf(Buffer.from("0123"), now))).rejects.toMatchObject({
      code: "conflict",
      message: "became shorter while it was being read",
    });
  }
});

test("a file that states more than it holds, as those of /sys do, is whole at its end", async () => {
  expect(await fetched(fileOf(Buffer.from("0123"), { size: 10n, times: { accessed: 1, modified: 1 } }))).toBe("0123");
});

/** A folder with `a.log`, whose opening or whose second part fails. */
const folderOf = (at: "opendir" | "readdir", failure: Status): Answer => {
  let parts = 0;
  return ({ type, id }) => {
    if (type === "stat") return status(id, "no_such_file");
    if (type === "opendir") return at === "opendir" ? status(id, failure) : { type: "handle", id, handle: Buffer.of(1) };
    if (type === "readdir" && parts++ > 0) return status(id, failure);
    if (type === "readdir") return { type: "name", id, files: [{ name: Buffer.from("a.log"), longName: Buffer.from("a.log"), attributes: {} }] };
    return status(id, "ok");
  };
};

test.for([
  ["opendir", "no_such_file"],
  ["opendir", "permission_denied"],
] as const)("a pattern matches nothing where %s fails with %s", async ([at, failure]) => {
  expect(await expandRemote(await clientOf(folderOf(at, failure)), "/logs/*.log")).toEqual([]);
});

test.for([
  ["opendir", "failure", "conflict"],
  ["readdir", "failure", "conflict"],
  ["readdir", "permission_denied", "denied"],
] as const)("a pattern whose folder fails at %s with %s is an error, not the names so far", async ([at, failure, code]) => {
  await expect(expandRemote(await clientOf(folderOf(at, failure)), "/logs/*.log")).rejects.toMatchObject({ code });
});
