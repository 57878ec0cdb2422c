import type { HostPort } from "../../../core/transport/host-port.ts";
import { relay } from "../../../core/transport/relay.ts";
import type { Call } from "../../command.ts";
import type { ProfileSource } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { openWithCode } from "../served/confirmed-source.ts";
import { type LocalPort, openLocalPort } from "../served/local-port.ts";
import { openServed, type ServedTarget } from "../served/open-served.ts";
import { admitRequest, speaksFirst } from "./admit-request.ts";

export interface AppTunnelAsk {
  /** Name of the application. */
  readonly name: string;
  /** Each connection uses the login as it is then. */
  readonly source: ProfileSource;
  /** 0: any free one. */
  readonly port: number;
  /** Target port, of an application that has several. */
  readonly target?: number | undefined;
  /** Whether the application speaks HTTP; undefined: not known. */
  readonly isHttp: boolean | undefined;
  /** Further names of the port in requests of HTTP. */
  readonly hosts: readonly HostPort[];
}

/** What a stream to an application asks for. Pure. */
export function appTarget(name: string, port: number | undefined): ServedTarget<"app"> {
  return { kind: "app", name, parameters: port === undefined ? {} : { port: String(port) } };
}

/**
 * A local port whose connections go to an application; a failure of one is printed and ends that one. Requests of HTTP have to name the port as their host: the
 * page of another site could use it otherwise. Throws `unavailable`.
 */
export async function openAppTunnel(call: Call, { name, source, port, target, isHttp, hosts }: AppTunnelAsk): Promise<LocalPort> {
  return await openLocalPort(call.io, port, async (socket, signal) => {
    const admit = async (): Promise<boolean> => await admitRequest({ socket, hosts, isHttp, signal });
    if (isHttp === true && !(await admit())) return;
    const profile = await source.current();
    const open = async (login: Profile) => await withTrust(call, login, (trusting) => openServed(call.io, trusting, appTarget(name, target)));
    const stream = await openWithCode(source, profile, open);
    if (isHttp === undefined && (await speaksFirst(socket, stream, signal)) && !(await admit())) return void stream.destroy();
    await relay(socket, stream, { signal });
  });
}
