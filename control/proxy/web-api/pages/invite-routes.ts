import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { onBehalfOf } from "../../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { PlatformError, toPlatformError } from "../../../../core/errors/platform-error.ts";
import type { Log } from "../../../../core/log/log.ts";
import { canonicalIp } from "../../../../core/transport/canonical-ip.ts";
import { formatHostPort } from "../../../../core/transport/host-port.ts";
import { qrSvg, secretOf } from "../authenticator-picture.ts";
import { type PingFacts, publicAddress } from "../ping.ts";
import { httpStatus } from "../server/answer-errors.ts";
import { acceptedPage, invitePage, pageHeaders, refusedPage } from "./pages.ts";

export interface InviteServices {
  readonly auth: AuthClient;
  readonly log: Log;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
}

type WithToken = { Params: { token: string } };

const acceptSchema = z.object({ password: z.string().min(1).max(1024), code: z.string().trim().min(1).max(16) });
const formSchema = acceptSchema.extend({ repeat: z.string().max(1024) });

/** The link for an invited user: a page, and the same as JSON. The token is the secret and is never logged. */
export function inviteRoutes(app: FastifyInstance, services: InviteServices): void {
  addPage(app, services);
  addJson(app, services);
}

function addPage(app: FastifyInstance, services: InviteServices): void {
  const send = async (reply: FastifyReply, status: number, html: string): Promise<void> => {
    await reply.code(status).headers(pageHeaders()).send(html);
  };
  const refuse = async (reply: FastifyReply, thrown: unknown): Promise<void> => {
    const error = toPlatformError(thrown);
    if (error.code === "internal") services.log.error("could not serve an invite page", { error });
    await send(reply, httpStatus[error.code], refusedPage(error));
  };
  app.get<WithToken>("/web/invite/:token", async (request, reply) => {
    try {
      await send(reply, 200, await form(services, asked(request)));
    } catch (thrown) {
      await refuse(reply, thrown);
    }
  });
  app.post<WithToken>("/web/invite/:token", async (request, reply) => {
    const ask = asked(request);
    try {
      const user = await acceptForm(services, ask, request.body);
      await send(reply, 200, acceptedPage(await loginFacts(services, user)));
    } catch (thrown) {
      const error = toPlatformError(thrown);
      // The same form again with the error, as long as the invite is still open.
      const again = await form(services, ask, error).catch(() => undefined);
      if (again === undefined) await refuse(reply, thrown);
      else await send(reply, httpStatus[error.code], again);
    }
  });
}

function addJson(app: FastifyInstance, { auth }: InviteServices): void {
  app.get<WithToken>("/v1/webapi/users/invite/:token", async (request) => {
    const { token, call } = asked(request);
    const invite = await auth.getInvite({ token }, call);
    return { user: invite.user, otpauth_uri: invite.otpauthUri };
  });
  app.post<WithToken>("/v1/webapi/users/invite/:token", async (request) => {
    const { token, call } = asked(request);
    const { password, code } = read(acceptSchema, request.body);
    const { user } = await auth.acceptInvite({ token, password, code }, call);
    return { user };
  });
}

interface Asked {
  readonly token: string;
  /** Calls carry the client's own address: limits and audit use that, not this proxy's. */
  readonly call: ReturnType<typeof onBehalfOf>;
}

function asked({ params, ip }: FastifyRequest<WithToken>): Asked {
  return { token: params.token, call: onBehalfOf(canonicalIp(ip)) };
}

async function form({ auth }: InviteServices, { token, call }: Asked, error?: PlatformError): Promise<string> {
  const { user, otpauthUri, clusterName } = await auth.getInvite({ token }, call);
  return invitePage({ user, clusterName, picture: await qrSvg(otpauthUri), secret: secretOf(otpauthUri), uri: otpauthUri, error });
}

async function acceptForm({ auth }: InviteServices, { token, call }: Asked, body: unknown): Promise<string> {
  const { password, repeat, code } = read(formSchema, body);
  if (password !== repeat) throw new PlatformError("invalid", "the two passwords differ");
  return (await auth.acceptInvite({ token, password, code }, call)).user;
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new PlatformError("invalid", `${parsed.error.issues[0]?.path.join(".") || "the body"} is missing or malformed`);
}

async function loginFacts({ auth, ping }: InviteServices, user: string): Promise<Parameters<typeof acceptedPage>[0]> {
  const { caPins, clusterName } = await auth.getCluster({});
  return { user, clusterName, proxy: formatHostPort(publicAddress(ping())), caPins };
}
