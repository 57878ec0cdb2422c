import { z } from "zod";
import { auditEvents, confirmed, count, server, short, text } from "../../audit/event-spec.ts";

/** Names in an event: the first ones of many. */
const names = z.array(short).max(64);

/** The identity under which the cluster's API server saw a request: users and groups that roles lent. */
const lent = { kubernetes_users: names.optional(), kubernetes_groups: names.optional() };

/**
 * Fields that events of sessions have where the session is in a pod, beside those of SSH, whose `login` is empty then. `kubernetes_users` and
 * `kubernetes_groups` are what the API server saw.
 */
export const kubeSession = {
  kubernetes_cluster: short.optional(),
  ...lent,
  kubernetes_pod_name: short.optional(),
  kubernetes_pod_namespace: short.optional(),
  kubernetes_container_name: short.optional(),
  kubernetes_container_image: short.optional(),
  kubernetes_node_name: short.optional(),
};

/** Audit events of requests to Kubernetes clusters. Sessions in pods have the events of sessions (core/kinds/ssh). */
export const kubeEvents = auditEvents({
  /**
   * A request was answered, refused, or is a watch or a stream that begins (`phase`): that of a program over a WebSocket before its answer, with the code 0. `verb`: the HTTP method; `kubernetes_verb`: what it does.
   * `request_path` has no query. `error`: why it was refused or failed. `relayed_by`: id of the proxy that ended the client's TLS.
   */
  "kube.request": {
    code: ["T3009I", "T3009W"],
    reporters: ["node"],
    fields: {
      ...server,
      user: short,
      sid: short,
      kubernetes_cluster: short,
      ...lent,
      proto: z.literal("kube"),
      phase: z.enum(["begin", "end"]).optional(),
      request_path: text,
      verb: short,
      kubernetes_verb: short.optional(),
      response_code: count,
      resource_api_group: short.optional(),
      resource_kind: short.optional(),
      resource_namespace: short.optional(),
      resource_name: short.optional(),
      user_agent: short.optional(),
      bytes_transmitted: count.optional(),
      bytes_received: count.optional(),
      /** Milliseconds from the request's head to the answer's end. */
      duration: count.optional(),
      relayed_by: short.optional(),
      ...confirmed,
      error: text.optional(),
    },
    newer: ["with_mfa"],
  },
});
