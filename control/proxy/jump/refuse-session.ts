import type { ServerChannel, Session } from "ssh2";

const sentence = "This is a jump host: it has no shell. Connect to a host behind it: ssh -J <this proxy> <login>@<host>\r\n";

/** Answers a shell, command or subsystem on the jump host with a sentence and exit status 1. */
export function refuseSession(session: Session): void {
  const answer = (accept: (() => ServerChannel) | undefined): void => {
    const channel = accept?.();
    if (channel === undefined) return;
    channel.on("error", () => {});
    channel.stderr.write(sentence);
    channel.exit(1);
    channel.end();
  };
  session.on("pty", (accept) => accept?.());
  session.on("shell", (accept) => answer(accept));
  session.on("exec", (accept) => answer(accept));
  session.on("subsystem", (accept) => answer(accept));
}
