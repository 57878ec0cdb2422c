import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { ChannelReading } from "../../versions/channels.ts";
import type { VersionServer } from "../../versions/open-version-server.ts";
import { errorBody } from "../server/answer-errors.ts";

/** Paths of the version server; `/v1` is the documented one, the other is for old updaters. */
const upgradePrefixes = ["/v1/webapi/automaticupgrades/channel/", "/webapi/automaticupgrades/channel/"] as const;

/** Age of an outdated answer in seconds: the upstream fails. */
const staleHeader = "Platform-Upgrade-Stale";
/** Why this host should not have the channel's version now: a sentence. */
const heldHeader = "Platform-Upgrade-Held";
/** The auth service's signature over the answer for a host. */
const signedHeader = "Platform-Upgrade-Signed";
/** Why the answer is `none` although the channel has a version: a sentence. */
const whyHeader = "Platform-Upgrade-Why";

/**
 * `GET …/automaticupgrades/channel/<name>/version` and `/critical`, public. With `?host=<id>` the roll-out
 * applies.
 */
export function upgradeRoutes(app: FastifyInstance, server: VersionServer): void {
  for (const prefix of upgradePrefixes) {
    app.route({
      method: ["GET", "HEAD"],
      exposeHeadRoute: false,
      url: `${prefix}*`,
      handler: (request, reply) => answer({ request, reply, server, prefix }),
    });
  }
}

interface Asked {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly server: VersionServer;
  readonly prefix: string;
}

async function answer({ request, reply, server, prefix }: Asked): Promise<FastifyReply> {
  if (!server.limit.take(request.raw.socket)) {
    void reply.header("Retry-After", "1");
    throw new PlatformError("limit", "too many requests from this address", { hint: "try again in a minute" });
  }
  // The raw path: the router's own decoding does not distinguish a%2Fb from a/b.
  const [path = "", query = ""] = (request.raw.url ?? "").slice(prefix.length).split("?", 2);
  const { channel, what } = parseChannelPath(path);
  const host = hostOf(query);
  await server.channels.settling(channel);
  let reading: ChannelReading;
  try {
    reading = server.channels.read(channel);
    if (what === "critical" && reading.critical === undefined) {
      throw new PlatformError("unavailable", `the version server that channel ${channel} forwards to did not report whether its version is critical`);
    }
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "unavailable") throw thrown;
    return await reply.code(502).send(errorBody(thrown));
  }
  void reply.type("text/plain; charset=utf-8");
  if (reading.staleSeconds !== undefined) void reply.header(staleHeader, String(reading.staleSeconds));
  const target = host === undefined ? { ...reading, held: undefined, signed: undefined } : await server.targets.of({ channel, host, reading });
  if (target.held !== undefined) void reply.header(heldHeader, target.held);
  if (target.signed !== undefined) void reply.header(signedHeader, target.signed);
  if (target.why !== undefined) void reply.header(whyHeader, whyText(channel, target.why));
  return await reply.send(what === "version" ? target.version : yesOrNo(target.critical));
}

interface ChannelAsk {
  /** As written in the configuration; it may contain slashes. */
  readonly channel: string;
  readonly what: "version" | "critical";
}

const wanted = "request /v1/webapi/automaticupgrades/channel/<name>/version or …/critical";

/** `<name>/version` or `<name>/critical`, percent-encoding allowed: the last segment selects. Throws `invalid` for anything else. */
export function parseChannelPath(path: string): ChannelAsk {
  const refuse = (why: string): never => {
    throw new PlatformError("invalid", why, { hint: wanted });
  };
  const end = path.lastIndexOf("/");
  if (end < 0) return refuse("the path has no channel name");
  const what = path.slice(end + 1);
  if (what !== "version" && what !== "critical") return refuse("the path ends neither with /version nor with /critical");
  const channel = decoded(path.slice(0, end)) ?? refuse("the channel's name is not percent-encoded text");
  if (channel.split("/").some((segment) => segment === "" || segment === "." || segment === ".."))
    return refuse("the channel's name has an empty part");
  return { channel, what };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The id of `?host=<id>`; undefined: no host was given. Throws `invalid`. */
function hostOf(query: string): string | undefined {
  const hosts = new URLSearchParams(query).getAll("host");
  const [host] = hosts;
  if (host === undefined) return undefined;
  if (hosts.length > 1 || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(host)) {
    throw new PlatformError("invalid", "host must be the id of a host, a UUID", {
      hint: "leave it out, or use the id from `tctl inventory ls`",
    });
  }
  return host.toLowerCase();
}

function yesOrNo(critical: boolean | undefined): string {
  return critical === true ? "yes" : "no";
}

/** The sentence of `whyHeader`. */
function whyText(channel: string, why: string): string {
  return `channel ${channel} ${why}`.replace(/[^\x20-\x7e]+/g, " ").slice(0, 300);
}
