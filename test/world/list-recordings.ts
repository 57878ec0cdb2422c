import type { Cluster } from "./cluster.ts";
import type { User } from "./cluster-user.ts";

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

export interface Played {
  readonly user: User;
  readonly state: string;
  /** Whether what the user sees of it (`tsh play`) is what is looked for. */
  isIt(text: string): boolean;
}

/** Id of the session whose recording it is; undefined: there is none yet. */
export async function findPlayed(cluster: Pick<Cluster, "admin">, { user, state, isIt }: Played): Promise<string | undefined> {
  for (const one of await listRecordings(cluster)) if (one.state === state && isIt((await user.tsh(["play", one.sid])).stdout)) return one.sid;
  return undefined;
}
