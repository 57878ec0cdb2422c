import { auditEvents, outcome, server, short, text } from "../event-spec.ts";

/** `from` and `to` are versions; `reason` is one of core/versions/upgrade-reason.ts, `error` the host's own message. */
const upgrade = { ...server, from: short.optional(), to: short.optional(), reason: short, error: text.optional() };

/** Hosts that join, renew, upgrade, and lose their tunnels. */
export const hostEvents = auditEvents({
  "instance.join": {
    code: ["TJ002I", "TJ002W"],
    fields: {
      ...outcome,
      role: short,
      server_id: short.optional(),
      server_name: short,
      /** Public id of the token, never its secret. */
      token: short.optional(),
    },
  },
  "instance.renew": { code: ["TJ003I", "TJ003W"], fields: { ...outcome, ...server, role: short } },
  /** A host's tunnel was lost without notice from its agent; and came back after that. */
  "agent.gone": { code: "TG001W", fields: { ...server, reason: text.optional() } },
  "agent.back": { code: "TG002I", fields: server },
  "upgrade.done": { code: "TU001I", fields: upgrade },
  "upgrade.failed": { code: "TU002W", fields: upgrade },
  "upgrade.rolled_back": { code: "TU003W", fields: upgrade },
  "upgrade.skipped": { code: "TU004I", fields: upgrade },
});
