import { auditEvents, short, text } from "../event-spec.ts";

/** `name` is the channel, `version` without v; `user` if a user did it. */
const rollout = { name: short, version: short, user: short.optional(), reason: text.optional() };

/** Versions on their way through the cluster. */
export const rolloutEvents = auditEvents({
  "rollout.started": { code: "TR003I", fields: rollout },
  "rollout.stopped": { code: "TR004W", fields: rollout },
  "rollout.done": { code: "TR005I", fields: rollout },
  "rollout.paused": { code: "TR006I", fields: rollout },
  "rollout.resumed": { code: "TR007I", fields: rollout },
  "rollout.promoted": { code: "TR008I", fields: rollout },
});
