import { z } from "zod";
import { loginText } from "../../resources/metadata.ts";

/*
 * Where a role demands a one-time code for each session (docs/mfa.md), a page is refused with `mfa_required`. It sends a code, `POST /webapi/v1/confirmations`, and tries
 * again with the `confirmation` of the answer, which it keeps in memory alone. It is good in this browser session, from this address, for what it was asked for: one
 * terminal, the files of a host, a running session, a Kubernetes cluster, or one session of an application.
 */

const host = { node: z.string().min(1).max(255), login: loginText };

/** What a page opens. `host`: an application's host name. */
const confirmedThingSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("terminal"), ...host }),
  z.strictObject({ type: z.literal("files"), ...host }),
  z.strictObject({ type: z.literal("join"), session: z.uuid() }),
  z.strictObject({ type: z.literal("kube"), cluster: z.string().min(1).max(255) }),
  z.strictObject({ type: z.literal("app"), host: z.string().min(1).max(253) }),
]);
export type ConfirmedThing = z.infer<typeof confirmedThingSchema>;

export const confirmationAskSchema = z.strictObject({ for: confirmedThingSchema, code: z.string().trim().min(1).max(16) });
export type ConfirmationAsk = z.infer<typeof confirmationAskSchema>;

export const confirmationSchema = z.object({ confirmation: z.string() });
export type Confirmation = z.infer<typeof confirmationSchema>;

/** Of a message that opens something, on a WebSocket or as a body; left out: nothing was confirmed. */
export const confirmed = { confirmation: z.string().max(64).optional() };
