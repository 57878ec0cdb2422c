import { z } from "zod";
import { auditEvents, outcome, short } from "../../audit/event-spec.ts";
import { kubeSession } from "../kube/kube-events.ts";
import { sshSession } from "./session-facts.ts";

/** Audit events of forwarded ports, sockets and displays. */
export const sshForwardingEvents = auditEvents({
  /** `addr` is the destination, or the listening address; `count` is the number of such attempts since the last event. */
  port: {
    code: ["T3003I", "T3003E"],
    reporters: ["node"],
    fields: { ...sshSession, ...kubeSession, ...outcome, addr: short, direction: z.enum(["local", "remote"]), count: z.int().positive().optional() },
  },
  x11: { code: ["T3008I", "T3008E"], reporters: ["node"], fields: { ...sshSession, ...outcome } },
});
