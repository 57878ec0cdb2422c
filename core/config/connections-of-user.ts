import { z } from "zod";
import { wholeNumber } from "./setting.ts";

/**
 * New connections that proxies open in one user's name, for each kind of resource: at once, and then a second. A page of ours takes one or two, a terminal one, a page of
 * an application up to 32 and one for each WebSocket, SSH that the proxy records and a client without `tsh` one for each connection. A connection costs a proxy and an
 * agent some 20 ms of processor time: 50 a second are a processor's work.
 */
export const usualConnectionsOfUser = { burst: 2_000, perSecond: 50 } as const;

/** The most that may be set is half of what the auth service gives one proxy for all of its users (control/limits/host-quotas.ts). */
export const connectionsOfUser = z
  .strictObject({
    at_once: wholeNumber("connections", { least: 1, most: 10_000 }).default(usualConnectionsOfUser.burst),
    per_second: wholeNumber("connections", { least: 1, most: 250 }).optional(),
  })
  .transform(({ at_once, per_second = Math.min(usualConnectionsOfUser.perSecond, at_once) }) => ({ at_once, per_second }))
  .refine((size) => size.per_second <= size.at_once, {
    error: "must not have a per_second above its at_once: a user who opens none saves up at_once, and never more",
  });
