import { type UploadAsk, type UploadNotice, uploadAskSchema, uploadWindow } from "../../../../core/api/web/files.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Api } from "../api/api.ts";
import type { SocketInbox } from "../api/socket-inbox.ts";
import { type SocketCall, type SocketServices, socketRoute } from "../api/socket-route.ts";
import { fileError, type HostFiles, openFiles } from "./open-files.ts";
import { outlive } from "./outlive.ts";
import { readText } from "./read-text.ts";
import { receiveFile } from "./receive-file.ts";
import type { TerminalServices } from "./terminal-route.ts";
import { uploadPlace } from "./upload-place.ts";
import { IncomingFile } from "./write-file.ts";

const uploadPath = "/webapi/v1/files/upload";
/** Time limits of the message that says which file, of the clearing up after an upload that failed, and of all that a host still does once the browser has gone, ms. */
const [askMs, dropMs, goneMs] = [10_000, 5_000, 60_000] as const;

/** `/webapi/v1/files/upload`: a file from a browser to a host (core/api/web/files.ts has the messages). */
export function uploadRoute(api: Api, services: TerminalServices, sockets: SocketServices): void {
  const handler = async (call: SocketCall): Promise<void> => {
    const serving = serve(call, services);
    services.relaying.add(serving);
    await serving;
  };
  socketRoute(api, { path: uploadPath, summary: "Stores a file on a host: a WebSocket.", handler }, sockets);
}

async function serve(call: SocketCall, services: TerminalServices): Promise<void> {
  const ask = await askOf(call.inbox, call.signal);
  const held = services.transfers.open(call.browser.user);
  held.hold(uploadWindow);
  try {
    await upload(call, ask, services);
  } finally {
    held.release();
  }
}

async function upload({ socket, inbox, browser, auth, peer, signal }: SocketCall, ask: UploadAsk, services: TerminalServices): Promise<void> {
  // It outlives the browser by the time to store what has come, or to remove what it has left: a host need not answer at all.
  const life = outlive(signal, goneMs);
  const { node, login, confirmation } = ask;
  const files = await openFiles({ node, login, confirmation, identity: browser.identity, auth, peer, signal: life.signal }, services);
  const send = (notice: UploadNotice): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(notice));
  };
  try {
    signal.throwIfAborted();
    const path = await store(files, ask, { inbox, signal, send });
    send({ type: "stored", path });
  } catch (thrown) {
    throw fileError(thrown, `store ${ask.name} on ${files.host}`);
  } finally {
    files.close();
    setTimeout(() => life.abort(), dropMs).unref();
  }
}

async function askOf(inbox: SocketInbox, signal: AbortSignal): Promise<UploadAsk> {
  const { isBinary, data } = await inbox.next(askMs, { what: "file's name", signal });
  const asked = uploadAskSchema.safeParse(isBinary ? undefined : readText(data));
  if (asked.success) return asked.data;
  const field = asked.error.issues[0]?.path.join(".").slice(0, 64) ?? "";
  throw new PlatformError("invalid", `could not read which file to store${field === "" ? "" : `: ${field}`}`);
}

interface Line {
  readonly inbox: SocketInbox;
  readonly signal: AbortSignal;
  readonly send: (notice: UploadNotice) => void;
}

/** The path of the stored file. */
async function store(files: HostFiles, ask: UploadAsk, { inbox, signal, send }: Line): Promise<string> {
  const place = await uploadPlace(files, ask);
  const file = await IncomingFile.open(files.client, place);
  try {
    send({ type: "ready" });
    await receiveFile(file, { inbox, signal, size: ask.size, written: (bytes) => send({ type: "written", bytes }) });
    await file.store();
  } catch (thrown) {
    await within(dropMs, file.drop());
    throw thrown;
  }
  return place.target.toString("utf8");
}

/** Waits no longer than this, and for nothing but the end. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), limit]);
  clearTimeout(timer);
}
