import { z } from "zod";
import { newAuthenticatorSchema } from "../../../core/api/web/authenticator.ts";
import type { Api } from "./api/api.ts";
import { apiRoute } from "./api/api-route.ts";
import { qrPath, secretOf } from "./authenticator-picture.ts";
import { endedSchema, loginSchema, type SessionServices } from "./session-routes.ts";

const proofSchema = loginSchema.omit({ user: true });
/** `remove_passkeys`: all of the user's, with the change. */
const withPasskeys = { remove_passkeys: z.boolean().default(false) };
const newPasswordSchema = proofSchema.extend({ new_password: z.string().min(1).max(1024), ...withPasskeys });

/**
 * The user's own password and authenticator, each changed for the password and a code; the user's other sessions in browsers end with it, and with
 * `remove_passkeys` all passkeys of the user are removed. A new authenticator takes two calls: `POST` answers its secret, and with `PUT` and a code of it it counts.
 */
export function credentialRoutes(api: Api, { sessionsEnded }: Pick<SessionServices, "sessionsEnded">): void {
  apiRoute(api, {
    method: "PUT",
    path: "/webapi/v1/password",
    summary: "Changes the user's own password, and ends the user's other sessions in browsers.",
    schema: { body: newPasswordSchema, answer: endedSchema },
    handler: async ({ auth, body: { password, code, new_password: newPassword, remove_passkeys: removePasskeys } }) => {
      const { ended } = await auth.changePassword({ password, code, newPassword, removePasskeys });
      sessionsEnded();
      return { ended };
    },
  });
  apiRoute(api, {
    method: "POST",
    path: "/webapi/v1/authenticator",
    summary: "Makes the secret of a new authenticator for the user, which does not count yet.",
    schema: { body: proofSchema, answer: newAuthenticatorSchema },
    handler: async ({ auth, body }) => {
      const { otpauthUri: uri } = await auth.startAuthenticator(body);
      return { uri, secret: secretOf(uri), picture: { ...qrPath(uri) } };
    },
  });
  apiRoute(api, {
    method: "PUT",
    path: "/webapi/v1/authenticator",
    summary: "Replaces the user's authenticator by the new one, by a code of it, and ends the user's other sessions in browsers.",
    schema: { body: proofSchema.pick({ code: true }).extend(withPasskeys), answer: endedSchema },
    handler: async ({ auth, body: { code, remove_passkeys: removePasskeys } }) => {
      const { ended } = await auth.confirmAuthenticator({ code, removePasskeys });
      sessionsEnded();
      return { ended };
    },
  });
}
