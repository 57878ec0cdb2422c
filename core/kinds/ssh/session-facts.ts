import { server, short } from "../../audit/event-spec.ts";

/** Fields of every audit event of an SSH session. */
export const sshSession = { ...server, user: short, login: short, sid: short };
