import type { MachineManager } from "./machine-options.ts";

/** struct flock of 64-bit Linux: type, whence, start, length, process. */
const posixLock = (file: string): string =>
  `exec perl -MFcntl -e '$|=1; open(F,"+>>","${file}"); my $lock=pack("s s x4 q q i",F_WRLCK,0,0,0,0); fcntl(F,F_SETLK,$lock) or die; print "locked\\n"; sleep 600'`;

/** Shell commands that hold the package manager as another program would: they say `locked`, and go on until they are killed. */
export const packageLockHolders: Readonly<Record<MachineManager, string>> = {
  apt: posixLock("/var/lib/dpkg/lock-frontend"),
  dnf: posixLock("/var/lib/rpm/.rpm.lock"),
  yum: posixLock("/var/lib/rpm/.rpm.lock"),
  zypper: 'exec perl -e \'$|=1; open(F,">","/run/zypp.pid"); print F $$; close F; print "locked\\n"; sleep 600\'',
};
