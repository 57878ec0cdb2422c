/** A task that must be done as the user, because file permissions count: the IPC message to `platform __socket`. */
export interface SocketOrder {
  readonly user: { readonly login: string; readonly uid: number; readonly gid: number };
  /** The process starts as root and must become the user. */
  readonly becomeUser: boolean;
  readonly task: SocketTask;
}

export type SocketTask =
  | { readonly do: "connect"; readonly path: string }
  | { readonly do: "listen"; readonly path: string }
  /** Listens in a new folder of its own that only the user may enter. */
  | { readonly do: "listen in private" }
  /** Removes a socket, and its folder if that was created for it. */
  | { readonly do: "remove"; readonly path: string; readonly folder: boolean };

/** The answer; a connected or a listening socket comes with it. */
export type SocketAnswer =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly code: string | undefined; readonly errno: number | undefined; readonly message: string };
