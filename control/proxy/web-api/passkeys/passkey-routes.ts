import { randomBytes } from "node:crypto";
import { z } from "zod";
import { onBehalfOf } from "../../../../core/api/auth-call.ts";
import type { AuthClient } from "../../../../core/api/auth-client.ts";
import type { PasskeyChallenge } from "../../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import {
  type AssertionOptions,
  assertionOptionsSchema,
  assertionSchema,
  attestationSchema,
  creationOptionsSchema,
  passkeyAlgorithms,
  passkeySchema,
} from "../../../../core/api/web/passkeys.ts";
import type { HostPort } from "../../../../core/transport/host-port.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";
import type { PingFacts } from "../ping.ts";
import { endedSchema, loginSchema } from "../session-routes.ts";
import { answerSeconds, assertionMessage, fromBase64, passkeyCookie, passkeySite, toBase64, waitingBrowser } from "./passkey-browser.ts";

export interface PasskeyServices {
  readonly auth: Pick<AuthClient, "startPasskeyLogin">;
  readonly clusterName: string;
  /** Current facts: ports are known once they are bound. */
  readonly ping: () => PingFacts;
  /** Called once sessions have ended, so that what began from them ends here at once. */
  readonly sessionsEnded: () => void;
}

const nameText = z.string().trim().min(1).max(64);
const passwordProof = loginSchema.omit({ user: true });
const params = z.object({ id: z.string().max(64) });

/** Passkeys: the challenge for a login, and the user's own ones, which are added for password and code, and removed for these or for a passkey. */
export function passkeyRoutes(api: Api, services: PasskeyServices): void {
  addLogin(api, services);
  addOwn(api, services);
  addRemoval(api, services);
}

function addLogin(api: Api, { auth, ping }: PasskeyServices): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/passkey-logins",
    summary: "Begins a login with a passkey: answers the options for the browser, and sets a cookie that binds them to it.",
    public: true,
    schema: { body: z.strictObject({}), answer: assertionOptionsSchema },
    handler: async ({ request, reply, address }) => {
      const site = passkeySite(request, ping());
      // A login in another tab goes on.
      const browser = waitingBrowser(request.headers.cookie) ?? randomBytes(32).toString("base64url");
      const challenge = await auth.startPasskeyLogin({ site, browser }, onBehalfOf(address));
      void reply.header("Set-Cookie", passkeyCookie(browser));
      return assertionOptions(challenge, site);
    },
  });
}

function addOwn(api: Api, { clusterName, ping }: PasskeyServices): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/passkeys",
    summary: "Lists the user's own passkeys, the oldest first.",
    schema: { answer: z.object({ passkeys: z.array(passkeySchema) }) },
    handler: async ({ auth }) => {
      const { passkeys } = await auth.listPasskeys({});
      return {
        passkeys: passkeys.map(({ id, name, host, created, lastUsed }) => ({
          id,
          name,
          host,
          created,
          ...(lastUsed !== "" && { last_used: lastUsed }),
        })),
      };
    },
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/passkeys/challenge",
    summary: "Begins to add a passkey, for the password and a code: answers the options for the browser.",
    schema: { body: passwordProof.extend({ name: nameText }), answer: creationOptionsSchema },
    handler: async ({ auth, browser: { user }, body, request }) => {
      const site = passkeySite(request, ping());
      const { challenge, userHandle } = await auth.startPasskey({ ...body, site });
      return {
        rp: { id: site.host, name: clusterName },
        user: { id: toBase64(userHandle), name: user, displayName: user },
        challenge: toBase64(challenge?.challenge ?? new Uint8Array()),
        pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: "public-key" as const, alg })),
        timeout: answerSeconds * 1000,
        excludeCredentials: descriptors(challenge),
        authenticatorSelection: { residentKey: "required" as const, requireResidentKey: true as const, userVerification: "required" as const },
        attestation: "none" as const,
      };
    },
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/passkeys",
    summary: "Adds a passkey of the user, by the authenticator's answer.",
    schema: { body: z.strictObject({ name: nameText, user_handle: z.string().regex(/^[A-Za-z0-9_-]{43}$/), passkey: attestationSchema }) },
    handler: async ({ auth, body: { name, user_handle: userHandle, passkey }, request }) => {
      const { clientDataJSON, attestationObject, transports } = passkey.response;
      await auth.addPasskey({
        site: passkeySite(request, ping()),
        name,
        clientData: fromBase64(clientDataJSON),
        attestationObject: fromBase64(attestationObject),
        userHandle: fromBase64(userHandle),
        transports,
      });
      return undefined;
    },
  });
}

function addRemoval(api: Api, { ping, sessionsEnded }: PasskeyServices): void {
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/passkeys/:id/challenge",
    summary: "Begins to remove a passkey for an answer of any passkey of the user: answers the options for the browser.",
    schema: { params, body: z.strictObject({}), answer: assertionOptionsSchema },
    handler: async ({ auth, params: { id }, request }) => {
      const site = passkeySite(request, ping());
      return assertionOptions(await auth.startPasskeyRemoval({ id, site }), site);
    },
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/passkeys/:id/removal",
    summary:
      "Removes a passkey of the user, for the password and a code or for an answer of a passkey, and ends the user's other sessions in browsers.",
    schema: { params, body: z.union([passwordProof, z.strictObject({ passkey: assertionSchema })]), answer: endedSchema },
    handler: async ({ auth, params: { id }, body, request }) => {
      const passkey = "passkey" in body ? { assertion: assertionMessage(body.passkey), site: passkeySite(request, ping()) } : undefined;
      const { ended } = await auth.removePasskey(passkey === undefined ? { id, ...("password" in body && body) } : { id, passkey });
      sessionsEnded();
      return { ended };
    },
  });
}

function assertionOptions(challenge: PasskeyChallenge, { host }: HostPort): AssertionOptions {
  return {
    challenge: toBase64(challenge.challenge),
    rpId: host,
    timeout: answerSeconds * 1000,
    userVerification: "required",
    allowCredentials: descriptors(challenge),
  };
}

function descriptors(challenge: PasskeyChallenge | undefined): AssertionOptions["allowCredentials"] {
  return (challenge?.credentials ?? []).map(({ id, transports }) => ({ type: "public-key" as const, id: toBase64(id), transports: [...transports] }));
}
