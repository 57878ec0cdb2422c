/**
 * Whether a command is the far side of scp, sftp or rsync, by its name. A user with a shell can always move bytes through it,
 * which `ssh_file_copy: false` does not promise to prevent.
 */
export function isFileCopy(command: string): boolean {
  const words = command.trim().split(/\s+/);
  const program = (words[0] ?? "").replace(/^.*\//, "");
  if (program === "scp") return words.slice(1).some((word) => /^-[a-zA-Z]*[tf]/.test(word));
  if (program === "rsync") return words.includes("--server");
  return program === "sftp-server" || program === "internal-sftp";
}
