#define _GNU_SOURCE
#include "guardian.h"
#include "order.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Seconds in which a session must be closed; ms between checks where the kernel has no pidfd. */
enum { close_limit = 60, look_pause = 250 };

struct watch {
  int fd;
  bool is_pidfd;
};

/* Both stay with the process that they were opened for: the number may be reused later. */
static struct watch watch_self(void) {
  int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (pidfd >= 0) return (struct watch){pidfd, true};
  return (struct watch){open("/proc/self/stat", O_RDONLY | O_CLOEXEC), false};
}

/* `pid (name) state …`; the name may hold anything. */
static bool is_over(int stat_fd) {
  char text[512];
  ssize_t length = pread(stat_fd, text, sizeof text - 1, 0);
  if (length <= 0) return true;
  text[length] = '\0';
  const char *name_end = strrchr(text, ')');
  return name_end == NULL || name_end[1] == '\0' || strchr("ZXx", name_end[2]) != NULL;
}

static void wait_for_end(struct watch watch) {
  struct pollfd ask = {.fd = watch.fd, .events = POLLIN};
  if (watch.is_pidfd) {
    while (poll(&ask, 1, -1) < 0 && errno == EINTR) {}
    return;
  }
  while (!is_over(watch.fd)) poll(NULL, 0, look_pause);
}

static void stay(int signal) { (void)signal; }

/* A stop of the service signals it too: it ends when the session has. Caught, not ignored: programs of modules start with defaults. */
static void outlive_signals(void) {
  static const int asked[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
  struct sigaction staying = {.sa_handler = stay};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) sigaction(asked[i], &staying, NULL);
}

bool start_guardian(void (*close_session)(void)) {
  struct watch watch = watch_self();
  if (watch.fd < 0) return false;
  pid_t between = fork();
  if (between == 0) {
    pid_t guardian = fork();
    if (guardian != 0) _exit(guardian < 0);
    setsid();
    if (chdir("/") != 0) errno = 0;
    outlive_signals();
    prctl(PR_SET_NAME, "platform-pam");
    /* No parent waits for it; standard streams are /dev/null. Descriptors that modules hold open stay. */
    for (int fd = answer_fd; fd < modules_fd; fd++) close(fd);
    wait_for_end(watch);
    alarm(close_limit);
    close_session();
    _exit(0);
  }
  int status = -1;
  while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR) {}
  close(watch.fd);
  return between > 0 && status == 0;
}
