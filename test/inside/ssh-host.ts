import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAccessSource } from "../../agent/access/access-source.ts";
import { findUnixUser } from "../../agent/host/unix-user.ts";
import { LiveSessions, reportSessions } from "../../agent/service/live-sessions.ts";
import { serveJoin } from "../../agent/session-join/serve-join.ts";
import { serveSsh } from "../../agent/ssh/serve-ssh.ts";
import type { SshDeps } from "../../agent/ssh/user-connection.ts";
import { UserLimits } from "../../agent/ssh-server/user-limits.ts";
import { openAuthClient } from "../../core/api/auth-client.ts";
import type { AuditFacts } from "../../core/audit/audit-events.ts";
import { toPlatformError } from "../../core/errors/platform-error.ts";
import { silentLog } from "../../core/log/log.ts";
import { encodeStreamReply } from "../../core/transport/stream-request.ts";
import { insideAuthorities } from "./authorities.ts";
import { compiledStarter } from "./compiled-starter.ts";
import { joinTestHost, startTestAgent, type TestAgent } from "./connect-agent.ts";
import type { TestCluster } from "./open-cluster.ts";
import { serviceDeps } from "./service-deps.ts";
import { sourceLaunch } from "./ssh-session.ts";

/** A host of a cluster whose agent's SSH service runs in this process: programs start as the user of the tests. */
export interface SshHost extends AsyncDisposable {
  readonly agent: TestAgent;
  /** Events that the agent recorded. */
  readonly events: AuditFacts[];
  /** Home of every login, empty at first. */
  readonly home: string;
}

export async function startSshHost(cluster: TestCluster, hostname: string): Promise<SshHost> {
  const credentials = await joinTestHost(cluster, hostname);
  const home = await mkdtemp(join(tmpdir(), "platform-home-"));
  const stop = new AbortController();
  const auth = openAuthClient({
    open: cluster.open,
    ca: cluster.hostCaPem,
    credentials: { certificate: credentials.tlsCertificate, privateKey: credentials.tlsPrivateKey },
  });
  const admin = cluster.admin;
  const source = openAccessSource({
    fetch: async () => ({ ...(await admin.getAccess({ kinds: ["ssh"] })), sessionRecording: "off" }),
    log: silentLog,
  });
  const authorities = await insideAuthorities();
  const { deps: common, events } = serviceDeps({ authorities, credentials, node: { name: hostname, labels: {} } });
  const live = new LiveSessions();
  const deps: SshDeps = {
    ...common,
    access: source,
    live,
    limits: new UserLimits(),
    findUser: async (login) => ({ ...(await findUnixUser(login)), home }),
    starter: compiledStarter(),
    launch: sourceLaunch,
  };
  const life = { signal: stop.signal, established: () => {} };
  const agent = await startTestAgent(cluster, {
    hostname,
    credentials,
    process: live.process,
    onStream: (channel, request) => {
      const served =
        request.kind === "join" ? serveJoin(channel, request, deps, life) : serveSsh(channel, request as Parameters<typeof serveSsh>[1], deps, life);
      served.catch((thrown: unknown) => channel.end(encodeStreamReply({ ok: false, error: toPlatformError(thrown) })));
    },
  });
  reportSessions({ live, client: async () => auth.client, log: silentLog, times: { soonMs: 10 } }, stop.signal);
  const follow = async (): Promise<never> => {
    for (;;) source.announce((await agent.next("access")).accessRevision);
  };
  follow().catch(() => {});
  return {
    agent,
    events,
    home,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      agent.end();
      auth.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
