import { errorDocument } from "../../../core/databases/mongodb/error-document.ts";
import type { PlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSession } from "../engine.ts";
import { ClientFilter } from "./client-filter.ts";
import { ownAnswer } from "./hello.ts";
import { judgeCommand } from "./judge-command.ts";
import { knownReplica } from "./open-member.ts";
import { answerTo, clientFrames, flag, opcode, type Request, readHeader, readRequest } from "./wire-message.ts";

/** Maximum time of a refused client, and for it to take the last answer, ms. */
const refusedMs = 60_000;
const farewellMs = 3_000;
/** Maximum messages of a refused client, and bytes of a command that are read. */
const maxMessages = 100;
const maxCommand = 64 * 1024;

/**
 * Answers a client that is refused: its hello as a server would, and each command with the reason, as drivers do not report an error in hello.
 * After a denial the connection stays, within limits: mongosh reports the reason only when it can still say goodbye. Otherwise it ends, so that the
 * next one can reach the server. Never throws.
 */
export async function refuseClient(session: EngineSession, first: Request, error: PlatformError): Promise<void> {
  const { client, signal } = session;
  const { promise, resolve } = Promise.withResolvers<void>();
  let messages = 0;
  const answer = (request: Request): void => {
    messages += 1;
    const isAnswered = (request.flags & flag.moreToCome) === 0 || request.namespace !== undefined;
    const { document, isRefusal } = replyOf(session, request, error);
    if (isAnswered) client.write(answerTo(request, document));
    if ((isRefusal && error.code !== "denied" && error.code !== "mfa_required") || messages >= maxMessages) client.end(resolve);
  };
  const filter = new ClientFilter(({ header, body, length }) => {
    if (client.writableEnded) return "drop";
    // A hello is never that long, and a command need not be read.
    if (clientFrames.keep(header) > maxCommand) {
      client.end(answerTo({ requestId: readHeader(header).requestId, opcode: opcode.msg }, errorDocument(error)), resolve);
    } else answer(readRequest(Buffer.concat([header, body]), length));
    return "drop";
  }, maxCommand);
  const orEnd = (act: () => void): void => {
    try {
      act();
    } catch {
      // The client does not speak the protocol.
      resolve();
    }
  };
  const onData = (chunk: Buffer): void => orEnd(() => void filter.push(chunk));
  const timer = setTimeout(resolve, refusedMs);
  const onAbort = (): void => resolve();
  client.on("end", resolve).on("close", resolve);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted || client.destroyed) resolve();
  else orEnd(() => answer(first));
  client.on("data", onData).resume();
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", onAbort);
  await taken(session);
  client.off("data", onData);
}

function replyOf(session: EngineSession, request: Request, error: PlatformError): { readonly document: Buffer; readonly isRefusal: boolean } {
  const { asked, database, reachedAt } = session;
  const verdict = judgeCommand(request, { account: asked.user ?? "", mayUse: () => true });
  if (verdict.kind === "answer") return { document: verdict.document, isRefusal: false };
  if (verdict.kind !== "hello") return { document: errorDocument(error), isRefusal: true };
  return { document: ownAnswer(request.command, { replica: knownReplica(database), address: reachedAt }), isRefusal: false };
}

/** The client has a moment to read the reason before the connection is cut. */
async function taken({ client }: EngineSession): Promise<void> {
  if (client.destroyed || !client.writableEnded) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, farewellMs);
  client.once("end", resolve).once("close", resolve);
  if (client.readableEnded || client.destroyed) resolve();
  await promise;
  clearTimeout(timer);
}
