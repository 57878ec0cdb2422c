#define _GNU_SOURCE
#include "order.h"
#include "pam-session.h"
#include "place.h"
#include "session-environment.h"
#include "terminal.h"
#include "user-sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * session-start: a program of its own, small, that becomes a user and turns into what a session runs; or asks PAM about an account.
 *
 *   session-start check                          whether this host has PAM
 *   session-start account                        may the user come in? PAM says
 *   session-start session <path> <argv[0]> …     opens a session at PAM, where one is ordered, becomes the user and turns into the program
 *   session-start files <argv[0]> …              opens one, and turns into the program at descriptor 5, as root: it becomes the user itself
 *   session-start sockets                        becomes the user and makes TCP sockets for the agent, until that leaves
 *
 * Descriptor 3: a sentence is a refusal. It is closed when the program starts, but for `files`, where it and 4 are the program's.
 */

/* Seconds in which all of it must be done. */
enum { limit = 60 };

static volatile sig_atomic_t asked_to_end;

static void take_too_long(int signal) {
  (void)signal;
  drain(MSG_DONTWAIT);
  static const char text[] = "the host (or PAM, if enabled) did not answer in time";
  _exit(write(answer_fd, text, sizeof text - 1) < 0 ? 254 : 255);
}

static void note(int signal) { asked_to_end = signal; }

/* A half-open session would leak: a termination signal waits until it can be closed. */
static void catch_signals(void (*act)(int)) {
  static const int asked[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  struct sigaction how = {.sa_handler = act};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) sigaction(asked[i], &how, NULL);
}

/* No signal blocked, none ignored, none caught: as init starts a process. */
static void reset_signals(void) {
  sigset_t none;
  /* As the kernel has it. glibc would leave out two of its own, which its posix_spawn(3) ignores. */
  static const unsigned long usual[8];
  for (int number = 1; number < NSIG; number++) syscall(SYS_rt_sigaction, number, usual, NULL, 8);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_inherited(int fd) {
  if (fd >= aside_fd) close(fd);
  else fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void close_at_exec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

static void to_each_fd(void (*act)(int)) {
  DIR *all = opendir("/proc/self/fd");
  if (all == NULL) give_up("could not list the open files: %s", strerror(errno));
  for (struct dirent *one = readdir(all); one != NULL; one = readdir(all)) {
    int fd = atoi(one->d_name);
    if (fd >= answer_fd && fd != dirfd(all)) act(fd);
  }
  closedir(all);
}

/* As in sshd(8), modules and what they leave running do not hold the user's pipes or terminal. */
static void set_streams_aside(void) {
  int free_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  int none = fcntl(free_fd, F_DUPFD_CLOEXEC, modules_fd);
  /* What modules open gets no number that the guardian closes. */
  while (free_fd >= 0 && free_fd < program_fd) free_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; fd++) {
    int aside = dup3(fd, aside_fd + fd, O_CLOEXEC);
    if (none < 0 || aside < 0 || dup2(none, fd) < 0) give_up("could not set the standard streams aside: %s", strerror(errno));
  }
  close(none);
}

static void take_streams_back(void) {
  for (int fd = 0; fd < 3; fd++) dup2(aside_fd + fd, fd);
  to_each_fd(close_at_exec);
}

/* As pam_loginuid(8): the kernel's audit names the user whatever it becomes, and last(1) believes utmp. Some kernels and containers have none. */
static void keep_login_uid(uid_t uid) {
  int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  /* Set before, it may not be changed. */
  if (dprintf(fd, "%u", uid) < 0) errno = 0;
  close(fd);
}

static void become_user(const struct order *order) {
  uid_t uid = order->uid, real, effective, kept;
  gid_t gid = order->gid, real_group, effective_group, kept_group;
  if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) give_up("could not switch to user %s: %s", order->user, strerror(errno));
  if (getresuid(&real, &effective, &kept) != 0 || real != uid || effective != uid || kept != uid) give_up("did not become user %s", order->user);
  if (getresgid(&real_group, &effective_group, &kept_group) != 0 || real_group != gid || effective_group != gid || kept_group != gid) {
    give_up("did not get the group of user %s", order->user);
  }
  if (uid != 0 && setuid(0) == 0) give_up("root can still be regained after switching to user %s", order->user);
}

static void turn_into(const char *path, char *const argv[], char *const variables[]) {
  execve(path, argv, variables);
  give_up("%s: %s", path, strerror(errno));
}

/* As root: no variable that a module sets, for the user may have set it, such as LD_PRELOAD of ~/.pam_environment. */
static void turn_into_files(char *const argv[]) {
  static char *const none[] = {NULL};
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", program_fd);
  for (int fd = answer_fd; fd <= reports_fd; fd++) fcntl(fd, F_SETFD, 0);
  turn_into(path, argv, none);
}

static void turn_into_program(const struct order *order, const char *path, char *const argv[]) {
  char **variables = session_environment(pam_variables());
  if (order->becomes) become_user(order);
  /* A missing or inaccessible home does not prevent a login. */
  if (chdir(order->home) != 0 && chdir("/") != 0) give_up("could not enter a working folder: %s", strerror(errno));
  show_words(order);
  turn_into(path, argv, variables);
}

/* No code of the user runs in it, and only root may inspect it: it was root's process. */
static int become_sockets(const struct order *order) {
  if (order->becomes) become_user(order);
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NAME, "platform-ports");
  close(answer_fd);
  serve_sockets();
  return 0;
}

/* Modules must finish in time, and a termination signal must not leave anything half done. */
static void go_through_pam(const struct order *order) {
  need_pam();
  set_streams_aside();
  catch_signals(note);
  ask_account(order);
  open_session(order);
  catch_signals(SIG_DFL);
  if (asked_to_end != 0) raise(asked_to_end);
  take_streams_back();
}

static int ask_only(const struct order *order, bool about_account) {
  need_pam();
  if (!about_account) return 0;
  ask_account(order);
  end_question();
  return 0;
}

int main(int argc, char *argv[]) {
  static struct order order;
  const char *mode = argc > 1 ? argv[1] : "";
  bool is_files = strcmp(mode, "files") == 0, is_session = strcmp(mode, "session") == 0, is_sockets = strcmp(mode, "sockets") == 0;
  is_fed = is_files;
  if (!take_order(&order) || argc < (is_files ? 3 : is_session ? 4 : 2)) give_up("not meant to be called by people");
  if (chdir("/") != 0) give_up("could not enter /: %s", strerror(errno));
  to_each_fd(close_inherited);
  reset_signals();
  struct sigaction late = {.sa_handler = take_too_long};
  sigaction(SIGALRM, &late, NULL);
  alarm(limit);
  umask(022);
  if (!is_files && !is_session && !is_sockets) return ask_only(&order, strcmp(mode, "account") == 0);
  take_place(&order);
  if (order.terminal != NULL && is_session) adopt_terminal(&order);
  if (order.becomes) keep_login_uid(order.uid);
  if (order.service != NULL) go_through_pam(&order);
  else if (order.becomes && initgroups(order.user, order.gid) != 0) give_up("could not set the groups of %s: %s", order.user, strerror(errno));
  alarm(0);
  signal(SIGALRM, SIG_DFL);
  if (is_files) turn_into_files(argv + 2);
  if (is_sockets) return become_sockets(&order);
  turn_into_program(&order, argv[2], argv + 3);
}
