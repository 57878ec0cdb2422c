import type { OwnRoot } from "./own-root.ts";
import { until } from "./until.ts";

/** Arguments of a module's call, from a script that pam_exec runs. */
export interface PamCall {
  readonly type: string;
  readonly service: string;
  readonly user: string;
  readonly rhost: string;
  readonly tty: string;
  readonly ruser: string;
  /** A variable of the configuration. */
  readonly team: string;
}

/** The PAM of a root, with a service of the tests' own. */
export interface PamHost {
  /** All calls since the last `forget`. */
  calls(): Promise<readonly PamCall[]>;
  /** Waits until sessions were opened so often, and closed so often. */
  counted(opened: number, closed: number): Promise<readonly PamCall[]>;
  forget(): Promise<void>;
}

const log = "/var/log/pam-calls";

const hook = `#!/bin/sh
[ -e /run/pam-slow ] && [ "$PAM_TYPE" = open_session ] && trap "" HUP && sleep 2
echo "$PAM_TYPE|$PAM_SERVICE|$PAM_USER|$PAM_RHOST|$PAM_TTY|$PAM_RUSER|$TEAM" >>${log}
`;

const service = `account required pam_nologin.so
account required pam_unix.so
account required pam_access.so accessfile=/etc/pam-test-access
session required pam_limits.so conf=/etc/pam-test-limits
session required pam_env.so conffile=/etc/pam-test-env user_readenv=0
session required pam_umask.so umask=0027
session required pam_mkhomedir.so
session required pam_exec.so /usr/local/sbin/pam-hook
session optional pam_motd.so motd=/etc/pam-test-motd
`;

const files: Readonly<Record<string, string>> = {
  "/usr/local/sbin/pam-hook": hook,
  "/etc/pam.d/platform-test": service,
  "/etc/pam-test-access": "-:erin:ALL\n+:ALL:ALL\n",
  "/etc/pam-test-limits": "bob hard nofile 333\nbob soft nofile 222\n",
  "/etc/pam-test-env": "FROM_PAM DEFAULT=yes\nLANG DEFAULT=C.UTF-8\nSSH_CLIENT DEFAULT=forged\n",
  "/etc/pam-test-motd": "Welcome to the rack.\n",
};

/** Opening takes two seconds while /run/pam-slow is there. bob may come in, dave has no home yet, carol has expired, erin is not in pam_access, frank must change his password. */
export async function makePamHost(root: OwnRoot): Promise<PamHost> {
  for (const [path, text] of Object.entries(files)) await root.run(["sh", "-c", `cat >${path}`], { input: text });
  await root.sh(`chmod 755 /usr/local/sbin/pam-hook; for name in bob carol erin frank; do useradd -m -s /bin/sh $name; done
useradd -M -s /bin/sh dave; usermod -e 2001-01-01 carol; chage -d 0 frank; : >${log}`);
  const calls = async (): Promise<readonly PamCall[]> =>
    (await root.sh(`cat ${log}`))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [type = "", name = "", user = "", rhost = "", tty = "", ruser = "", team = ""] = line.split("|");
        return { type, service: name, user, rhost, tty, ruser, team };
      });
  return {
    calls,
    counted: (opened, closed) =>
      until(`${opened} sessions opened and ${closed} closed`, async () => {
        const all = await calls();
        const count = (type: string): number => all.filter((call) => call.type === type).length;
        return count("open_session") === opened && count("close_session") === closed && all;
      }),
    forget: async () => void (await root.sh(`: >${log}`)),
  };
}
