/** Where an administrator's programs are; never the caller's: dpkg refuses to work with what `su` gives on Debian, without /usr/sbin. */
export const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
