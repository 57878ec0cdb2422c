import type { Cluster } from "./cluster.ts";

export interface ListedRecording {
  readonly sid: string;
  readonly user: string;
  readonly login: string;
  readonly server_name: string;
  /** Of services other than ssh. */
  readonly kind?: string;
  readonly resource?: string;
  readonly state: string;
  readonly bytes: number;
}

/** What `tctl recordings ls` has, the newest first. */
export async function listRecordings(cluster: Pick<Cluster, "admin">): Promise<ListedRecording[]> {
  return JSON.parse(await cluster.admin("recordings", "ls", "--format=json")) as ListedRecording[];
}
