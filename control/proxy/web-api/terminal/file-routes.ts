import { posix } from "node:path";
import { Readable } from "node:stream";
import { fileFactsSchema, fileQuerySchema, folderSchema } from "../../../../core/api/web/files.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../../../core/sftp/attributes.ts";
import { openFlags } from "../../../../core/sftp/numbers.ts";
import { closeHandle, openFile, statHandle, statPath } from "../../../../core/sftp-client/sftp-calls.ts";
import type { Api } from "../api/api.ts";
import { apiRoute, type UserCall } from "../api/api-route.ts";
import { type BoundFacts, type BoundServices, boundedCall } from "../api/bounded-call.ts";
import { allowLink, linkConfirmation, pageConfirmation } from "../page-confirmation.ts";
import { attachment } from "./attachment.ts";
import { listFiles } from "./list-files.ts";
import { type AskedPath, fileError, type HostFiles, openFiles, pathText, wholePath } from "./open-files.ts";
import { readAheadBytes, readFile } from "./read-file.ts";
import type { TerminalServices } from "./terminal-route.ts";

export interface FileServices extends TerminalServices, BoundServices {}

const facts = { query: fileQuerySchema, answer: fileFactsSchema };
const content = { query: fileQuerySchema };
const folder = { query: fileQuerySchema, answer: folderSchema };

/** Files of hosts for browsers: what a file is, and its bytes, which are passed on as they come. */
export function fileRoutes(api: Api, services: FileServices): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/files",
    summary: "Shows a file of a host: its whole path, and its size.",
    schema: facts,
    handler: async (call) => {
      const answer = await withFiles(call, services, async (files) => await found(files, call.query));
      allowLink(call.reply, call.query, pageConfirmation(call.request));
      return answer;
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/files/folder",
    summary: "Lists a folder of a host, up to 2,000 entries.",
    schema: folder,
    handler: async (call) => await withFiles(call, services, async (files, hold) => await listed(files, call.query, hold)),
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/files/content",
    summary: "Reads a file of a host. An answer that was cut is shorter than its Content-Length, or has no last chunk.",
    schema: content,
    // A link that the browser follows carries no token. Reading changes nothing, and a page of another site is refused.
    authentication: "session",
    media: "application/octet-stream",
    handler: async (call) => await download(call, services),
  });
}

type FileCall = Pick<UserCall<typeof content>, "auth" | "browser" | "query" | "request" | "address">;
type BoundCall = FileCall & Pick<UserCall<typeof content>, "reply" | "signal">;

/** Asks a host over a connection of its own, which ends with it. */
async function withFiles<T>(call: BoundCall, services: FileServices, ask: (files: HostFiles, hold: BoundFacts["hold"]) => Promise<T>): Promise<T> {
  return await boundedCall(call, services, async ({ signal, hold }) => {
    const files = await filesOf(call, services, { signal, confirmation: pageConfirmation(call.request) });
    try {
      return await ask(files, hold);
    } finally {
      files.close();
    }
  });
}

async function filesOf(
  { auth, browser: { identity }, query: { node, login }, request, address }: FileCall,
  services: FileServices,
  { signal, confirmation }: { readonly signal: AbortSignal; readonly confirmation: string | undefined },
): Promise<HostFiles> {
  const peer = `${address.includes(":") ? `[${address}]` : address}:${request.socket.remotePort ?? 0}`;
  return await openFiles({ node, login, confirmation, identity, auth, peer, signal }, services);
}

async function listed(files: HostFiles, asked: AskedPath, hold: BoundFacts["hold"]) {
  try {
    return await listFiles(files, asked, hold);
  } catch (thrown) {
    throw fileError(thrown, `list ${pathText(asked)} on ${files.host}`);
  }
}

async function found(files: HostFiles, asked: AskedPath) {
  try {
    const whole = await wholePath(files, asked);
    const attributes = await statPath(files.client, whole);
    if (attributes === undefined) throw new PlatformError("not_found", "No such file or directory");
    return { path: whole.toString("utf8"), size: sizeOf(attributes) };
  } catch (thrown) {
    throw fileError(thrown, `read ${pathText(asked)} on ${files.host}`);
  }
}

/** Throws `invalid` for what is not a file with an end: a device, a pipe. */
function sizeOf(attributes: Attributes): number {
  const kind = kindOf(attributes);
  if (kind === "folder") throw new PlatformError("invalid", "it is a folder", { hint: "copy it with: tsh scp -r" });
  if (kind !== "regular") throw new PlatformError("invalid", "it is not a regular file");
  return Number(attributes.size ?? 0n);
}

async function download(call: UserCall<typeof content>, services: FileServices) {
  const { query, reply, browser } = call;
  if (reply.raw.closed) throw new PlatformError("unavailable", "the browser has gone");
  const ended = new AbortController();
  const end = (why: PlatformError): void => ended.abort(why);
  const release = services.openSockets.add(browser, end);
  const held = services.transfers.open(browser.user);
  const over = new Promise<void>((resolve) => reply.raw.once("close", resolve)).then(release).then(held.release);
  held.hold(readAheadBytes);
  services.relaying.add(over);
  const signal = AbortSignal.any([call.signal, ended.signal]);
  const confirmation = linkConfirmation(call.request, reply, query) ?? pageConfirmation(call.request);
  const files = await filesOf(call, services, { signal, confirmation });
  reply.raw.once("close", () => files.close());
  if (reply.raw.closed) files.close();
  const { client, host } = files;
  try {
    const path = await wholePath(files, query);
    const handle = await openChecked(files, path);
    const size = sizeOf(await statHandle(client, handle));
    // Files of the kernel have no size before they are read.
    const bytes = Readable.from(readFile(client, handle, size === 0 ? undefined : size), { objectMode: false, highWaterMark: 65_536 });
    bytes.once(
      "close",
      () =>
        void closeHandle(client, handle)
          .catch(() => {})
          .finally(files.close),
    );
    reply.header("Content-Disposition", attachment(posix.basename(path.toString("utf8"))));
    if (size > 0) reply.header("Content-Length", size);
    return await reply.type("application/octet-stream").send(bytes);
  } catch (thrown) {
    files.close();
    throw fileError(thrown, `read ${pathText(query)} on ${host}`);
  }
}

/** A pipe would hold its reader until somebody writes: it is not opened. */
async function openChecked({ client }: HostFiles, path: Buffer): Promise<Buffer> {
  const attributes = await statPath(client, path);
  if (attributes !== undefined) sizeOf(attributes);
  return await openFile(client, path, { flags: openFlags.read });
}
