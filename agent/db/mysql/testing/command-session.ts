import { capability } from "../../../../core/databases/mysql/capabilities.ts";
import { packet } from "../../../../core/databases/mysql/packet.ts";
import type { DatabaseEvent } from "../../engine.ts";
import { FrameFilter } from "../../frame-filter.ts";
import { ClientCommands, packetFormat } from "../client-commands.ts";
import { Replies } from "../replies.ts";
import { Statements } from "../statements.ts";
import { u32le } from "../wire.ts";

/** Both directions of a session: what a client sends, and what its server answers. */
export function commandSession(hasAttributes = false, isStrict = false, givesHigh = false) {
  const events: DatabaseEvent[] = [];
  const replies = new Replies({ flags: capability.deprecateEof, extended: 0 });
  const threadOf = (own: number): number | undefined => (own === 3_000_000_000 ? 42 : undefined);
  const statements = new Statements();
  const facts = { statements, hasAttributes, threadOf, givesHigh, isStrict, record: (event: DatabaseEvent) => void events.push(event) };
  const commands = new ClientCommands(facts, replies);
  const fromClient = new FrameFilter(commands.format, (frame) => commands.judge(frame));
  const fromServer = new FrameFilter({ ...packetFormat, keep: () => replies.kept }, (frame) => replies.judge(frame));
  const send = (...payloads: Buffer[]): Buffer => Buffer.concat(fromClient.push(Buffer.concat(payloads.map((one) => packet(0, one)))));
  const answer = (payload: Buffer): Buffer => Buffer.concat(fromServer.push(packet(1, payload)));
  return { events, replies, statements, commands, fromClient, send, answer };
}

/** The payload of a command. */
export const command = (code: number, ...parts: (Buffer | string)[]): Buffer =>
  Buffer.concat([Buffer.of(code), ...parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part))]);
/** Answers of a server. */
export const ok = Buffer.of(0, 0, 0, 2, 0, 0, 0);
export const prepared = (statement: number, parameters: number): Buffer => Buffer.of(0, statement, 0, 0, 0, 0, 0, parameters, 0, 0, 0, 0);
/** Parts of commands, and an execution of them. */
export const u16le = (value: number): Buffer => Buffer.of(value & 255, value >> 8);
export const execute = (statement: number, ...rest: Buffer[]): Buffer => command(0x17, u32le(statement), Buffer.of(0), u32le(1), ...rest);
