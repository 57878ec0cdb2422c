import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type HeaderField, isWebSocketUpgrade } from "../../../core/resources/app-headers.ts";
import { relay } from "../../../core/transport/relay.ts";
import { fieldOf } from "../../http/exchange.ts";
import { clientRequest } from "../../http/http1-request.ts";
import { closing, encodeHead, endSoon, refuseRaw } from "../../http/raw-response.ts";
import type { UpgradeAnswer } from "../../http/upstream-http1.ts";
import { HttpRefusal, refusalResponse, unreached } from "./http-refusal.ts";
import type { HttpSession } from "./http-session.ts";
import { foreignOrigin, judgeTarget } from "./judge-request.ts";
import { responseHeaders } from "./response-headers.ts";
import { logRefusal, noteOf, preparedRequest } from "./serve-exchange.ts";

/**
 * Serves a request for a WebSocket. It begins only when the application has agreed; its refusal goes to the client as
 * the last response of the connection, which is not used again. Never throws.
 */
export async function serveUpgrade(request: IncomingMessage, socket: Duplex, session: HttpSession): Promise<void> {
  session.touch();
  const asked = clientRequest(request);
  const note = noteOf(asked, session);
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  socket.on("error", leave).once("close", leave);
  try {
    const judged = judgeTarget(asked);
    if (asked.body !== undefined) throw new HttpRefusal(400, "a request for another protocol has no body");
    requireOwnOrigin(asked.headers, judged.host, session);
    const sent = await preparedRequest({ asked, judged }, session, { signal: gone.signal, onInform: () => {} });
    const answer = await session.upstream.upgrade(sent, fieldOf(asked.headers, "upgrade") ?? "").catch((thrown: unknown) => {
      throw unreached(session.app.name, thrown);
    });
    note("upgraded" in answer ? answer.head.status : answer.status);
    await passUpgrade(answer, { socket, host: judged.host, session });
  } catch (thrown) {
    if (gone.signal.aborted) return note(499);
    const refusal = thrown instanceof HttpRefusal ? thrown : unreached(session.app.name, thrown);
    note(refusal.status);
    logRefusal(refusal, session);
    refuseRaw(socket, refusalResponse(refusal, asked.headers));
  }
}

/** Throws HttpRefusal for a page of another site, and records it. */
function requireOwnOrigin(headers: readonly HeaderField[], host: string, { app, visit }: Pick<HttpSession, "app" | "visit">): void {
  const foreign = foreignOrigin(headers, host, app.cors);
  if (foreign === undefined) return;
  visit.refusedOrigin(foreign);
  throw new HttpRefusal(403, "a page of another site may not open connections to this application");
}

interface Passage {
  readonly socket: Duplex;
  readonly host: string;
  readonly session: HttpSession;
}

async function passUpgrade(answer: UpgradeAnswer, { socket, host, session }: Passage): Promise<void> {
  const rewrite = (headers: readonly HeaderField[]): readonly HeaderField[] =>
    responseHeaders({ headers, host, redirect: session.app.rewrite.redirect });
  if (!("upgraded" in answer)) {
    const { status, message, headers, body, hasBody } = answer;
    socket.write(encodeHead({ status, message, headers: [...rewrite(headers), closing] }));
    // Its end is the end of the connection.
    if (hasBody) await pipeline(body, socket, { end: false });
    else body.resume();
    return endSoon(socket);
  }
  const { upgraded, head } = answer;
  try {
    const agreed = fieldOf(head.headers, "upgrade") ?? "";
    if (!isWebSocketUpgrade(agreed)) throw new Error("the application began another protocol than the one that was asked for");
    socket.write(encodeHead({ status: 101, message: "", headers: [["Connection", "Upgrade"], ["Upgrade", agreed], ...rewrite(head.headers)] }));
  } catch (thrown) {
    upgraded.destroy();
    throw thrown;
  }
  for (const stream of [socket, upgraded]) stream.on("data", session.touch);
  await relay(socket, upgraded, { signal: session.signal });
}
