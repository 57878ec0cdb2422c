/** The version of ssh2 for which this folder was written; package.json pins it. */
const expectedVersion = "1.17.0";

/** A private part of ssh2, as a path from the object that holds it, and its type. */
type Parts = Readonly<Record<string, "function" | "object" | "number" | "string" | "boolean">>;

/** All that this folder uses, by holder. */
export const privateParts = {
  Protocol: {
    authPK: "function",
    channelData: "function",
    channelExtData: "function",
    channelWindowAdjust: "function",
    channelOpenConfirm: "function",
    channelOpenFail: "function",
    forwardedTcpip: "function",
    openssh_forwardedStreamLocal: "function",
    openssh_authAgent: "function",
    x11: "function",
    parse: "function",
    rekey: "function",
  },
  Channel: { _read: "function", _write: "function", close: "function", destroy: "function" },
  modules: {
    "Channel.MAX_WINDOW": "number",
    "Channel.WINDOW_THRESHOLD": "number",
    "Channel.windowAdjust": "function",
    "constants.SUPPORTED_SERVER_HOST_KEY": "object",
    "keyParser.parseDERKey": "function",
    "keyParser.parseKey": "function",
    "kex.KexInit": "function",
    "kex.kexinit": "function",
    "utils.sendPacket": "function",
    "handlers.98": "function",
    "agent.BaseAgent": "function",
    "crypto.bindingAvailable": "boolean",
    "crypto.CIPHER_INFO": "object",
    "crypto.createCipher": "function",
  },
  connection: {
    _sock: "object",
    "_chanMgr._count": "number",
    "_chanMgr._channels": "object",
    "_chanMgr.get": "function",
    "_chanMgr.add": "function",
    "_protocol._offer": "object",
    "_protocol._cipher.encrypt": "function",
    "_protocol._cipher.allocPacket": "function",
    "_protocol._decipher._tag": "object",
    "_protocol._destruct": "function",
    "_protocol._strictMode": "boolean",
    "_protocol._kex.sessionID": "object",
    "_protocol._kex.negotiated.serverHostKey": "string",
    "_protocol._remoteIdentRaw": "object",
    "_protocol._authsQueue": "object",
    "_protocol._server": "boolean",
    "_protocol._packetRW.read.read": "function",
    "_protocol._packetRW.read.cleanup": "function",
    "_protocol._packetRW.write.allocStart": "number",
    "_protocol._packetRW.write.alloc": "function",
    "_protocol._packetRW.write.finalize": "function",
    "_protocol._handlers.CHANNEL_OPEN": "function",
    "_protocol._handlers.CHANNEL_OPEN_CONFIRMATION": "function",
    "_protocol._handlers.CHANNEL_OPEN_FAILURE": "function",
    "_protocol._handlers.CHANNEL_DATA": "function",
    "_protocol._handlers.CHANNEL_EXTENDED_DATA": "function",
    "_protocol._handlers.CHANNEL_REQUEST": "function",
    "_protocol._handlers.GLOBAL_REQUEST": "function",
  },
  channel: {
    "_client._protocol": "object",
    "incoming.id": "number",
    "incoming.window": "number",
    "outgoing.window": "number",
    "outgoing.packetSize": "number",
    "outgoing.state": "string",
    stderr: "object",
    server: "boolean",
    _waitWindow: "boolean",
    _waitChanDrain: "boolean",
    "_readableState.highWaterMark": "number",
    "_writableState.highWaterMark": "number",
  },
  session: { "_chanInfo.incoming.id": "number", "_chanInfo.outgoing.id": "number" },
} as const satisfies Readonly<Record<string, Parts>>;

/** Sentences about what has changed: none for the ssh2 that this folder was written for. */
export function shapeFaults(version: string, holders: Readonly<Record<keyof typeof privateParts, unknown>>): string[] {
  const advice = "read what changed in ssh2, adapt core/ssh/ssh2 to it, then correct core/ssh/ssh2/shape.ts";
  const faults = version === expectedVersion ? [] : [`ssh2 ${version} is installed, and core/ssh/ssh2 is written for ${expectedVersion}: ${advice}`];
  for (const [holder, parts] of Object.entries(privateParts)) {
    for (const [path, type] of Object.entries(parts)) {
      const found = typeOf(holders[holder as keyof typeof privateParts], path);
      if (found !== type) faults.push(`ssh2's ${holder} should have ${path} (${type}), and it is ${found}: ${advice}`);
    }
  }
  return faults;
}

function typeOf(holder: unknown, path: string): string {
  let value = holder;
  for (const name of path.split(".")) value = typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  return typeof value;
}
