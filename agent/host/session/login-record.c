#define _GNU_SOURCE
#include "login-record.h"
#include "utmp-record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <lastlog.h>
#include <paths.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set_id(struct utmp *record, const char *line) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  int number = 0;
  sscanf(line, "pts/%d", &number);
  record->ut_id[0] = own_mark;
  for (int i = 3; i > 0; i--, number /= 36) record->ut_id[i] = digits[number % 36];
}

static void write_lastlog(const struct utmp *record, uid_t uid) {
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

/* As much as fits; utmp's texts need no end. */
static void put(char *place, size_t size, const char *text) { memcpy(place, text, strnlen(text, size)); }

void record_login(const struct order *order) {
  struct utmp record;
  memset(&record, 0, sizeof record);
  record.ut_type = USER_PROCESS;
  record.ut_pid = getpid();
  const char *address = order->rhost == NULL ? "" : order->rhost;
  static const char folder[] = "/dev/";
  const char *line = order->terminal;
  if (strncmp(line, folder, sizeof folder - 1) == 0) line += sizeof folder - 1;
  put(record.ut_line, sizeof record.ut_line - 1, line);
  put(record.ut_user, sizeof record.ut_user - 1, order->user);
  put(record.ut_host, sizeof record.ut_host - 1, address);
  if (inet_pton(AF_INET, address, record.ut_addr_v6) != 1) inet_pton(AF_INET6, address, record.ut_addr_v6);
  set_id(&record, line);
  set_time(&record);
  setutent();
  pututline(&record);
  endutent();
  append_wtmp(&record);
  write_lastlog(&record, order->uid);
}
