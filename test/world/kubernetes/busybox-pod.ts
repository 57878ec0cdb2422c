import { busyboxImage } from "./busybox-image.ts";

/** A pod, as small as it gets, which ends at once when it is deleted. */
export const busyboxPod = (name: string): object => ({ metadata: { name }, spec: busyboxPodSpec });

/** What such a pod is made of. */
export const busyboxPodSpec = { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: busyboxImage }] };
