import { expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { version } from "../../../core/versions/version.ts";
import { ServiceVoice, serviceManager } from "./systemd.ts";

const env = { NOTIFY_SOCKET: "/run/systemd/notify" };

/** What was sent, as `pid text`; the first answers are errno. */
function recorded(...errors: readonly number[]): { sent: string[]; manager: ReturnType<typeof serviceManager> } {
  const sent: string[] = [];
  const left = [...errors];
  const notify = (_address: string, text: string, pid: number): number => {
    sent.push(`${pid} ${text}`);
    return left.shift() ?? 0;
  };
  return { sent, manager: serviceManager(env, silentLog, () => ({ notify })) };
}

test("a process that is to replace another one is silent until that one has announced it", async () => {
  const { sent, manager } = recorded();
  const voice = new ServiceVoice(manager, false);
  voice.say("2 sessions");
  voice.stopping();
  expect(sent).toEqual([]);
  await voice.ready();
  expect(sent).toEqual([`0 READY=1\nSTATUS=${version}: 2 sessions`]);
  voice.say("2 sessions");
  voice.say("3 sessions");
  await voice.announce(7);
  expect(sent.slice(1)).toEqual([`0 STATUS=${version}: 3 sessions`, "0 MAINPID=7"]);
});

test("in place of a process of an earlier version it speaks in that one's name, and in its own where it may not", async () => {
  const asOther = recorded();
  await new ServiceVoice(asOther.manager, false).replace(7);
  expect(asOther.sent[0]).toBe(`7 MAINPID=${process.pid}`);
  const asItself = recorded(1);
  await new ServiceVoice(asItself.manager, false).replace(7);
  expect(asItself.sent.slice(0, 2)).toEqual([`7 MAINPID=${process.pid}`, `0 MAINPID=${process.pid}`]);
});

test("a service manager that is busy is asked again, one that is not there is not, and a text stays one line", async () => {
  const { sent, manager } = recorded(11, 105);
  await manager.notify("STATUS=a\nMAINPID=1");
  expect(sent).toEqual(["0 STATUS=a MAINPID=1", "0 STATUS=a MAINPID=1", "0 STATUS=a MAINPID=1"]);
  const notify = (): number => expect.fail("nobody listens");
  await serviceManager({}, silentLog, () => ({ notify })).notify("READY=1");
});
