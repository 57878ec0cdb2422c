#define _GNU_SOURCE
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char oom_score[] = "/proc/self/oom_score_adj";

static void write_to(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, text, strlen(text)) < 0) errno = 0;
  close(fd);
}

/* Folders, one after another with colons between. The process that writes a 0 there moves itself. */
static void enter_groups(const char *folders) {
  char path[PATH_MAX];
  for (const char *at = folders; *at != '\0';) {
    size_t length = strcspn(at, ":");
    if (snprintf(path, sizeof path, "%.*s/cgroup.procs", (int)length, at) < (int)sizeof path) write_to(path, "0");
    at += length + (at[length] == ':');
  }
}

/* As sshd(8): the kernel may spare the service, but not its users' programs. */
static void give_up_protection(void) {
  char text[16] = "";
  int fd = open(oom_score, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (read(fd, text, sizeof text - 1) > 0 && text[0] == '-') write_to(oom_score, "0");
  close(fd);
}

static void limit_tasks(rlim_t most) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) return;
  if (limit.rlim_max > most) limit.rlim_max = most;
  if (limit.rlim_cur > most) limit.rlim_cur = most;
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) errno = 0;
}

void take_place(const struct order *order) {
  if (order->groups != NULL) enter_groups(order->groups);
  give_up_protection();
  if (order->tasks > 0) limit_tasks(order->tasks);
}
