import { PlatformError } from "../../../core/errors/platform-error.ts";

export function fileCopyRefused(): PlatformError {
  return new PlatformError("denied", "access denied: a role forbids copying files (ssh_file_copy: false)");
}
