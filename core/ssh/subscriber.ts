import type { Client, Connection } from "ssh2";
import type { WindowLimit } from "./channel-window.ts";

/** Either end of an SSH connection. */
export type SshEnd = Client | Connection;

/** Messages from the peer as ssh2 has read them, by its names. `channel` is our number of it. */
export interface ArrivedMessages {
  CHANNEL_OPEN: [open: { readonly type: string; readonly sender: number; readonly packetSize: number }];
  CHANNEL_OPEN_CONFIRMATION: [confirmation: { readonly recipient: number; readonly sender: number; readonly packetSize: number }];
  CHANNEL_OPEN_FAILURE: [channel: number, reason: number, text: string];
  CHANNEL_DATA: [channel: number, data: Buffer];
  CHANNEL_EXTENDED_DATA: [channel: number, data: Buffer, type: number];
  CHANNEL_REQUEST: [channel: number, name: string];
  GLOBAL_REQUEST: [name: string];
}

/** Our messages, by the names of ssh2's methods. `channel` is the peer's number of it. */
export interface SentMessages {
  channelData: [channel: number, data: Buffer];
  channelExtData: [channel: number, data: Buffer, type: number];
  channelWindowAdjust: [channel: number, bytes: number];
}

type Handlers<Messages extends { [Name in keyof Messages]: unknown[] }, Result> = {
  readonly [Name in keyof Messages]?: (connection: SshEnd, ...message: Messages[Name]) => Result;
};

/** Hooks of a connection. The order of all of them is stated in ssh2/hooks.ts. One object may subscribe to many connections. */
export interface Subscriber {
  /** Bytes were read from the stream. */
  readonly read?: (connection: SshEnd, bytes: number) => void;
  readonly arrived?: Handlers<ArrivedMessages, void>;
  /** Returns true to drop the message. */
  readonly drops?: Handlers<ArrivedMessages, boolean>;
  readonly sending?: Handlers<SentMessages, void>;
  /** We refused a channel. */
  readonly refused?: (connection: SshEnd) => void;
  /** A channel is being opened, by either side: how much its peer may send. */
  readonly window?: (connection: SshEnd) => WindowLimit;
  /** We have begun a key exchange. */
  readonly rekeying?: (connection: SshEnd) => void;
}
