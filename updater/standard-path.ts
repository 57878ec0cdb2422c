/** PATH of an administrator's programs, never the caller's: dpkg refuses to work with the PATH of `su` on Debian, which lacks /usr/sbin. */
export const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
