#define _GNU_SOURCE
#include "host-addon.h"
#include "session/utmp-record.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int is_over(const struct utmp *record, int32_t pid) {
  if (record->ut_type != USER_PROCESS || record->ut_id[0] != own_mark) return 0;
  return pid != 0 ? record->ut_pid == pid : kill(record->ut_pid, 0) != 0 && errno == ESRCH;
}

/*
 * recordLogout(pid): void. Ends our records of this process; 0: of all processes that have ended. Overwrites only records that are
 * ours, so it needs no lock, which any user could hold to make it wait.
 */
napi_value record_logout(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value arg;
  int32_t pid;
  struct utmp record;
  if (napi_get_cb_info(env, info, &count, &arg, NULL, NULL) != napi_ok || count != 1) return NULL;
  if (napi_get_value_int32(env, arg, &pid) != napi_ok) return NULL;
  int fd = open(_PATH_UTMP, O_RDWR | O_CLOEXEC);
  if (fd < 0) return NULL;
  for (off_t at = 0; pread(fd, &record, sizeof record, at) == sizeof record; at += sizeof record) {
    if (!is_over(&record, pid)) continue;
    record.ut_type = DEAD_PROCESS;
    memset(record.ut_user, 0, sizeof record.ut_user);
    memset(record.ut_host, 0, sizeof record.ut_host);
    memset(record.ut_addr_v6, 0, sizeof record.ut_addr_v6);
    set_time(&record);
    if (pwrite(fd, &record, sizeof record, at) < 0) errno = 0;
    append_wtmp(&record);
  }
  close(fd);
  return NULL;
}
