/*
 * Numbers of the SSH File Transfer Protocol, version 3 (draft-ietf-secsh-filexfer-02), the version that OpenSSH speaks, and the additions of
 * OpenSSH's PROTOCOL file.
 */

export const sftpVersion = 3;

/** Longest packet after its length field, in either direction: OpenSSH's SFTP_MAX_MSG_LENGTH. */
export const maxPacket = 256 * 1024;
/** Maximum bytes in one read or write: a packet less its header. */
export const maxTransfer = maxPacket - 1024;

export const messageNumbers = {
  init: 1,
  version: 2,
  open: 3,
  close: 4,
  read: 5,
  write: 6,
  lstat: 7,
  fstat: 8,
  setstat: 9,
  fsetstat: 10,
  opendir: 11,
  readdir: 12,
  remove: 13,
  mkdir: 14,
  rmdir: 15,
  realpath: 16,
  stat: 17,
  rename: 18,
  readlink: 19,
  symlink: 20,
  status: 101,
  handle: 102,
  data: 103,
  name: 104,
  attributes: 105,
  extended: 200,
  extended_reply: 201,
} as const;

export const statusNumbers = {
  ok: 0,
  end_of_file: 1,
  no_such_file: 2,
  permission_denied: 3,
  failure: 4,
  bad_message: 5,
  no_connection: 6,
  connection_lost: 7,
  unsupported: 8,
} as const;
export type Status = keyof typeof statusNumbers;

/** Bits of an open request's flags. */
export const openFlags = { read: 1, write: 2, append: 4, create: 8, truncate: 16, exclusive: 32 } as const;

/** Extensions that both our ends speak, by our names for them. The last is our own: PROTOCOL.md. */
export const extensionNames = {
  posixRename: "posix-rename@openssh.com",
  statvfs: "statvfs@openssh.com",
  fstatvfs: "fstatvfs@openssh.com",
  hardlink: "hardlink@openssh.com",
  fsync: "fsync@openssh.com",
  lsetstat: "lsetstat@openssh.com",
  limits: "limits@openssh.com",
  expandPath: "expand-path@openssh.com",
  copyData: "copy-data",
  homeDirectory: "home-directory",
  namesById: "users-groups-by-id@openssh.com",
  sha256: "sha256@platform.dev",
} as const;
