import { serialize } from "bson";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Engine, EngineSession, ServerAccess } from "../engine.ts";
import { HeldCommands } from "./held-commands.ts";
import { firstHello, userAgentOf } from "./hello.ts";
import { judgeCommand } from "./judge-command.ts";
import { type Member, openMember } from "./open-member.ts";
import { readMessage } from "./read-message.ts";
import { refuseClient } from "./refuse-client.ts";
import { type Conversation, relayCommands } from "./relay-commands.ts";
import { UsedSessions } from "./used-sessions.ts";
import { clientFrames, opMsg, type Request, readRequest, withCommand } from "./wire-message.ts";

/** Longest first message of a client, and the time it has for it, ms. */
const maxFirst = 64 * 1024;
const firstMs = 30_000;

/** The engine of MongoDB; `held`: what all its sessions hold together. */
export function mongodbEngine(held: HeldCommands = new HeldCommands()): Engine {
  const shared = { held, used: new UsedSessions() };
  return async (session) => {
    const { client } = session;
    client.on("error", () => {});
    try {
      const first = await firstRequest(session);
      return first === undefined ? undefined : await serve(session, first, shared);
    } catch (thrown) {
      return toPlatformError(thrown);
    } finally {
      client.destroy();
    }
  };
}

/** What all sessions of an engine have in common. */
type Shared = Pick<Conversation, "held" | "used">;

/** One for the whole process. */
export const serveMongodb: Engine = mongodbEngine();

/** The client's first message; whether it is a hello, which the agent sends to the server in its name. */
interface First {
  readonly request: Request;
  readonly isGreeting: boolean;
}

/** Judged as each later one is: an OP_QUERY on a collection can look like a hello. Throws `invalid`. */
function isGreeting(request: Request): boolean {
  return judgeCommand(request, { account: "", mayUse: () => false }).kind === "hello";
}

/** Undefined: the client has gone. */
async function firstRequest(session: EngineSession): Promise<First | undefined> {
  const { client, signal } = session;
  let message: Buffer | undefined;
  try {
    message = await readMessage(client, { maxBytes: maxFirst, ms: firstMs, signal, peer: "the client" });
    if (message === undefined) return undefined;
    const request = readRequest(message, clientFrames.lengthOf(message));
    return { request, isGreeting: isGreeting(request) };
  } catch (thrown) {
    const error = toPlatformError(thrown);
    const payload = (message ?? Buffer.alloc(0)).subarray(0, 256).toString("base64");
    if (error.code === "invalid") await session.record({ event: "db.session.malformed_packet", payload });
    throw error;
  }
}

async function serve(session: EngineSession, { request: first, isGreeting }: First, shared: Shared): Promise<PlatformError | undefined> {
  let opened: { readonly access: ServerAccess; readonly member: Member };
  try {
    opened = await open(session, isGreeting ? first : undefined);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    await refuseClient(session, first, error);
    return error;
  }
  if (isGreeting) session.count({ received: first.length });
  else session.client.unshift(first.message);
  return await relayCommands({ session, hello: isGreeting ? first : undefined, ...shared, ...opened });
}

/** The road to the server, with the client's own description; without one, if the client does not greet. */
async function open(session: EngineSession, hello: Request | undefined): Promise<{ readonly access: ServerAccess; readonly member: Member }> {
  const { asked, database, signal } = session;
  const userAgent = hello === undefined ? undefined : userAgentOf(hello.command);
  const access = await session.login(asked, userAgent === undefined ? {} : { userAgent });
  const own = hello === undefined ? opMsg({ requestId: 1 }, plainHello()) : withCommand(hello, firstHello(hello.command));
  return { access, member: await openMember({ access, database, hello: own, signal }) };
}

function plainHello(): Buffer {
  return Buffer.from(serialize({ hello: 1, $db: "admin" }));
}
