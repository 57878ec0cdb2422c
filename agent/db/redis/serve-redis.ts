import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { errorReply } from "../../../core/databases/redis/error-reply.ts";
import { newMarkSecret } from "../../../core/databases/redis/member-marks.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { anyMember, type Engine, type EngineSession, type ServerAccess } from "../engine.ts";
import { relayFrames } from "../relay-frames.ts";
import { askServer, errorOf } from "./ask-server.ts";
import { type ClusterMap, localMap } from "./cluster/cluster-maps.ts";
import { ClusterView } from "./cluster/cluster-view.ts";
import { refreshMembers } from "./cluster/known-members.ts";
import { type ReachedServer, reachAny, reachMember } from "./cluster/reach-member.ts";
import { CommandFilter } from "./command-filter.ts";
import { askAccount, awaitAccount, letLogIn } from "./log-in.ts";
import { OpenAnswers } from "./open-answers.ts";
import { OwnAnswers } from "./own-answers.ts";
import { redirectionError } from "./redirection.ts";
import { refuseClient } from "./refuse-client.ts";
import { ReplyFilter } from "./reply-filter.ts";
import { encodeCommand } from "./resp.ts";
import { SessionJudge } from "./session-judge.ts";

interface Connected {
  readonly server: Duplex;
  readonly user: string;
  readonly isCertified: boolean;
  /** Of a cluster. */
  readonly view?: ClusterView | undefined;
}

/** Redis and Valkey: RESP2 and RESP3. The account is the one that was asked for, or the one of the client's AUTH or HELLO. */
export const serveRedis: Engine = async (session) => {
  const { client } = session;
  client.on("error", () => {});
  const secret = session.member === undefined ? undefined : newMarkSecret();
  if (secret !== undefined) client.write(secret);
  try {
    const connected = await connect(session, secret);
    if (connected !== undefined) return await relay(session, connected);
    client.end();
    return undefined;
  } catch (thrown) {
    const why = toPlatformError(thrown);
    if (why.code === "internal") session.log.error("redis session failed", { session: session.sid, error: thrown });
    await refuseClient(client, errorReply(why), why.code === "invalid");
    return why;
  } finally {
    client.destroy();
  }
};

/** Undefined: the client has left before it logged in. */
async function connect(session: EngineSession, secret: Buffer | undefined): Promise<Connected | undefined> {
  const { asked, signal } = session;
  const account = asked.user ?? (await awaitAccount(session));
  if (account === undefined) return undefined;
  const access = await session.login({ user: account, name: asked.name });
  checkReach(session);
  const { server, at } = await dialServer(session, access);
  try {
    const isCertified = (await askAccount(server, access.user, signal)) === "own";
    if (!isCertified && !(await letLogIn(session, server, access.user))) {
      server.destroy();
      return undefined;
    }
    // The connection begins in database 0.
    if (asked.name !== undefined && asked.name !== "0") await enterDatabase(server, asked.name, signal);
    if (isCluster(session)) await refreshMembers(session.database, server, at, signal);
    const view = secret !== undefined && isCluster(session) ? new ClusterView(at, secret) : undefined;
    return { server, user: access.user, isCertified, view };
  } catch (thrown) {
    server.destroy();
    throw thrown;
  }
}

function checkReach(session: EngineSession): void {
  const { database, asked, member } = session;
  if (isCluster(session) && member === undefined) throw new PlatformError("unsupported", `${database.name} is a cluster: ${onlyTsh}`);
  if (asked.name === undefined && session.mayUse?.("0") === false)
    throw new PlatformError("denied", "access to database 0 denied: no role allows it in db_names", { hint: "state another one: --db-name=NUMBER" });
}

const onlyTsh = "its members are reached through tsh proxy db and tsh db connect, of this version or a newer one, alone";

function isCluster({ database }: EngineSession): boolean {
  return database.options.get("mode") === "cluster";
}

async function dialServer(session: EngineSession, access: ServerAccess): Promise<ReachedServer> {
  const { database, member = anyMember } = session;
  if (isCluster(session)) return member === anyMember ? await reachAny(session, access) : await reachMember(session, access, member);
  if (member !== anyMember)
    throw new PlatformError("not_found", `database ${database.name} is not a cluster: it has no member ${member.slice(0, 270)}`);
  const server = await access.secure(await access.dial());
  server.setNoDelay(true);
  return { server: server.on("error", () => {}), at: database.addresses[0] };
}

async function enterDatabase(server: Duplex, name: string, signal: AbortSignal): Promise<void> {
  const error = errorOf(await askServer(server, encodeCommand(["SELECT", name]), signal));
  if (error !== undefined) throw new PlatformError("not_found", `could not select database ${JSON.stringify(name)}: ${error.slice(0, 500)}`);
}

async function relay(session: EngineSession, { server, user, isCertified, view }: Connected): Promise<PlatformError | undefined> {
  const { client, asked, signal, isStrict } = session;
  const ownAnswers = new OwnAnswers(randomBytes(16).toString("hex"));
  const answers = new OpenAnswers();
  const mayUse = session.mayUse && ((name: string) => name === asked.name || session.mayUse?.(name) === true);
  const { statements } = session;
  const rules = { user, isCertified, mayUse, reachesMembers: view !== undefined };
  const judge = new SessionJudge({ record: (event) => session.record(event), statements, rules, ownAnswers, answers });
  const fromClient = new CommandFilter(judge);
  const fromServer = new ReplyFilter({
    onError: (line) => {
      answers.failed(line);
      return redirectionError(line, view) ?? ownAnswers.answerFor(line);
    },
    onReply: () => answers.replied(),
    ...(view && { keep: () => mapTaker(answers.mapNext, view) }),
  });
  const onClient = (bytes: number): Promise<void> | undefined => {
    session.touch();
    session.count({ received: bytes });
    return judge.room();
  };
  const onServer = (bytes: number): void => {
    session.touch();
    session.count({ transmitted: bytes });
  };
  const lastWords = (why: PlatformError): Buffer | undefined => {
    // Where no reply is awaited the connection just closes.
    return why.code === "invalid" || answers.isAwaited ? errorReply(why) : undefined;
  };
  let lost: PlatformError | undefined;
  // Before the relay's own listener, which ends the client's side.
  server.once("end", () => {
    if (!answers.isAwaited || !fromServer.atBoundary || client.readableEnded) return;
    lost = new PlatformError("unavailable", `the server of database ${session.database.name} closed the connection`);
    client.write(errorReply(lost));
  });
  const untilSafe = isStrict === true ? () => judge.room() : undefined;
  const { reason, malformed } = await relayFrames({ client, server, fromClient, fromServer, signal, untilSafe, onClient, onServer, lastWords });
  if (malformed === "client") await session.record({ event: "db.session.malformed_packet", payload: fromClient.opening.toString("base64") });
  return reason ?? lost;
}

/** What puts local ports into a reply that lists members; undefined: the reply is another one. */
function mapTaker(map: ClusterMap | undefined, view: ClusterView): ((reply: Buffer | undefined) => Buffer) | undefined {
  if (map === undefined) return undefined;
  return (reply) => {
    try {
      if (reply !== undefined) return localMap(map, reply, view);
    } catch (thrown) {
      return errorReply(toPlatformError(thrown));
    }
    return errorReply(new PlatformError("limit", "the cluster's answer about its members is too long"));
  };
}
