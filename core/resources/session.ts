import { z } from "zod";

/** How somebody takes part in a session of another: sees it, or types too. */
export const joinModes = ["observer", "peer"] as const;
export type JoinMode = (typeof joinModes)[number];

/** Who takes part in a session at a time, besides its owner. */
export const maxParticipants = 16;
/** Sessions that one process of an agent tells of. */
export const maxSessions = 1000;

const short = z.string().max(256);
const participantSchema = z.strictObject({ user: short, mode: z.enum(joinModes) });
export type Participant = z.infer<typeof participantSchema>;

/** A terminal session that runs, as its host tells it. */
export const activeSessionSchema = z.strictObject({
  sid: z.uuid(),
  kind: z.literal("ssh"),
  server_id: short,
  server_name: short,
  user: short,
  /** Of the user, as its certificate has them: `join_sessions` is about them. */
  roles: z.array(short).max(256),
  login: short,
  started: z.iso.datetime(),
  participants: z.array(participantSchema).max(maxParticipants),
  /** Which process of the agent serves it: an older one goes on with its sessions while a newer one takes what comes. */
  process: z.uuid(),
});
export type ActiveSession = z.infer<typeof activeSessionSchema>;

/** What people are told of one, with the ways in which they may join it. */
export const listedSessionSchema = activeSessionSchema.omit({ roles: true, process: true }).extend({ modes: z.array(z.enum(joinModes)) });
export type ListedSession = z.infer<typeof listedSessionSchema>;

/** The name under which joiners log in to a host: no Unix login can be called so, and no certificate lists it. */
export const joinLogin = "-join-";
