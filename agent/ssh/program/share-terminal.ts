import { mostNotices, noticeOf } from "../../session-join/notice.ts";
import { SharedTerminal } from "../../session-join/shared-terminal.ts";
import type { SessionChannel } from "../session-channel.ts";
import type { Terminal } from "./terminal.ts";

/** Lets other users join a session with a terminal, until its `end`. */
export function shareTerminal(channel: SessionChannel, terminal: Terminal): SharedTerminal {
  const { facts, sid, stream } = channel;
  const { grant, deps } = facts;
  const shared = new SharedTerminal({
    facts: {
      sid,
      kind: "ssh",
      server_id: grant.ask.node.id,
      server_name: deps.node.name,
      user: grant.identity.name,
      roles: grant.identity.roles,
      login: grant.ask.login,
      started: (deps.now ?? (() => new Date()))().toISOString(),
    },
    input: terminal.input,
    size: () => channel.wanted?.size ?? { columns: 0, rows: 0 },
    tellOwner: (text) => {
      const notice = noticeOf(text);
      // The recording has exactly what the owner sees.
      void channel.recorder?.show(notice);
      if (stream !== undefined && stream.stderr.writableLength < mostNotices) stream.stderr.write(notice);
    },
    changed: () => deps.live.onNews(),
  });
  deps.live.add(shared);
  return shared;
}

/** Ends sharing: nobody can join any more, and participants are notified. */
export function endShared({ shared, facts }: SessionChannel): void {
  if (shared === undefined) return;
  facts.deps.live.remove(shared);
  shared.end();
}
