/** The line of the install script for the address of the proxy that serves it. */
const emptyLine = /^PLATFORM_PROXY=''$/m;

/** The install script with the proxy's public address filled in, quoted for the shell. Throws Error when it has no such line. */
export function fillScript(script: string, proxy: string): string {
  if (!emptyLine.test(script)) throw new Error("scripts/install.sh has no line PLATFORM_PROXY=''");
  return script.replace(emptyLine, () => `PLATFORM_PROXY='${proxy.replaceAll("'", "'\\''")}'`);
}
