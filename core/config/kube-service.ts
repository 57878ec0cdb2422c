import { isAbsolute } from "node:path";
import { z } from "zod";
import { serviceKinds } from "../kinds/service-kinds.ts";
import { labelsSchema } from "../resources/metadata.ts";
import { listenersPort } from "../transport/host-port.ts";
import { labelCommandsSchema } from "./label-commands.ts";
import { chosenByLabels, hostPortText, onOff, orList } from "./setting.ts";

const { directPort } = serviceKinds.kube;

/** Maximum clusters of one agent, from its kubeconfig and the cluster's resources together. */
export const maxKubeClusters = 1000;

export const kubeServiceSchema = z
  .strictObject({
    enabled: onOff.default(true),
    /** Listening address when it joins the auth service directly; behind a proxy it opens no port. */
    listen_addr: hostPortText(directPort).prefault(`0.0.0.0:${directPort}`),
    /** Additional addresses for the proxies to dial. */
    public_addr: orList(hostPortText(listenersPort)).default([]),
    /** Each context of the file is a cluster of that name. */
    kubeconfig_file: z.string().refine(isAbsolute, "must be an absolute path").optional(),
    /** Name of the cluster in whose pod the agent runs; it uses the pod's service account. */
    kube_cluster_name: z.string().min(1).max(253).optional(),
    /** Of the clusters above; those of `resources` have labels of their own. */
    labels: labelsSchema.default({}),
    /** More of these labels, each printed by a command on this host. */
    commands: labelCommandsSchema,
    /** `kube_cluster` resources that this agent offers too: those whose labels match one of these. */
    resources: chosenByLabels,
  })
  .refine(({ kubeconfig_file: file, kube_cluster_name: name }) => file === undefined || name === undefined, {
    path: ["kube_cluster_name"],
    message: "names the cluster in whose pod the agent runs; with kubeconfig_file the contexts have the names",
  });
