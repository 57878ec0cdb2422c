#define _GNU_SOURCE
#include "host-addon.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <lastlog.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <utmp.h>

/*
 * utmp(5), wtmp and lastlog, as sshd(8) writes them for sessions at a terminal. A system that keeps no such file gets none. Our
 * records have an id of their own: P and the terminal's number in base 36. So nobody else writes over them, and they are found again.
 */

enum { mark = 'P', address_size = 64 };

static void set_id(struct utmp *record, const char *line) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  int number = 0;
  sscanf(line, "pts/%d", &number);
  record->ut_id[0] = mark;
  for (int i = 3; i > 0; i--, number /= 36) record->ut_id[i] = digits[number % 36];
}

static void set_time(struct utmp *record) {
  struct timeval now;
  gettimeofday(&now, NULL);
  record->ut_tv.tv_sec = now.tv_sec;
  record->ut_tv.tv_usec = now.tv_usec;
}

/* One write: others append too. */
static void append_wtmp(const struct utmp *record) {
  int fd = open(_PATH_WTMP, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, record, sizeof *record) < 0) errno = 0;
  close(fd);
}

static void write_lastlog(const struct utmp *record, uint32_t uid) {
  struct lastlog last;
  memset(&last, 0, sizeof last);
  last.ll_time = record->ut_tv.tv_sec;
  memcpy(last.ll_line, record->ut_line, sizeof last.ll_line);
  memcpy(last.ll_host, record->ut_host, sizeof last.ll_host);
  int fd = open(_PATH_LASTLOG, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (pwrite(fd, &last, sizeof last, (off_t)uid * (off_t)sizeof last) < 0) errno = 0;
  close(fd);
}

/* recordLogin(line, user, address, uid): void. Of this process. May wait for the lock of utmp, 10 s at most. */
napi_value record_login(napi_env env, napi_callback_info info) {
  size_t count = 4;
  napi_value args[4];
  char line[UT_LINESIZE], user[UT_NAMESIZE], address[address_size];
  uint32_t uid;
  struct utmp record;
  memset(&record, 0, sizeof record);
  if (napi_get_cb_info(env, info, &count, args, NULL, NULL) != napi_ok || count != 4) return NULL;
  if (!get_text(env, args[0], line, sizeof line) || !get_text(env, args[1], user, sizeof user)) return NULL;
  if (!get_text(env, args[2], address, sizeof address) || napi_get_value_uint32(env, args[3], &uid) != napi_ok) return NULL;
  record.ut_type = USER_PROCESS;
  record.ut_pid = getpid();
  memcpy(record.ut_line, line, strlen(line));
  memcpy(record.ut_user, user, strlen(user));
  memcpy(record.ut_host, address, strlen(address));
  if (inet_pton(AF_INET, address, record.ut_addr_v6) != 1) inet_pton(AF_INET6, address, record.ut_addr_v6);
  set_id(&record, line);
  set_time(&record);
  setutent();
  pututline(&record);
  endutent();
  append_wtmp(&record);
  write_lastlog(&record, uid);
  return NULL;
}

static int is_over(const struct utmp *record, int32_t pid) {
  if (record->ut_type != USER_PROCESS || record->ut_id[0] != mark) return 0;
  return pid != 0 ? record->ut_pid == pid : kill(record->ut_pid, 0) != 0 && errno == ESRCH;
}

/*
 * recordLogout(pid): void. Ends our records of this process; 0: of all processes that are gone. Writes only over records that are
 * ours, and so needs no lock, for which any user could make it wait.
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
