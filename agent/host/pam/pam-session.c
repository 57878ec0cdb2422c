#define _GNU_SOURCE
#include "guardian.h"
#include "order.h"
#include "pam-library.h"
#include "session-environment.h"
#include "words.h"

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
#include <unistd.h>

/*
 * pam-session: a program of its own, small, that stands between a session's start-up and its program, or asks PAM about an account.
 *
 *   pam-session check                            whether this host has PAM
 *   pam-session account                          may the user come in?
 *   pam-session session <path> <argv[0]> …       opens a session, becomes the user and turns into the program
 *   pam-session files <argv[0]> …                the same with the program at descriptor 5, as root: it becomes the user itself
 *
 * Descriptor 3: a sentence is a refusal. It is closed when the program starts, but for `files`, where it and 4 are the program's.
 */

/* Seconds in which PAM must have answered. */
enum { answer_limit = 60 };

static struct order order;
static pam_handle_t *handle;
static bool has_credentials;
static volatile sig_atomic_t asked_to_end;

/* PAM's answer, in its modules' words and its own. */
static void refuse(const char *did, int status) {
  give_up("PAM (service %s, %s) refuses %s: %s%s", order.service, did, order.user, words, pam.strerror(handle, status));
}

static void take_too_long(int signal) {
  (void)signal;
  drain(MSG_DONTWAIT);
  static const char text[] = "PAM gave no answer in time";
  _exit(write(answer_fd, text, sizeof text - 1) < 0 ? 254 : 255);
}

static void note(int signal) { asked_to_end = signal; }

/* A session half open would stay so: who asks this process to end meanwhile waits until it can be closed. */
static void catch_signals(void (*act)(int)) {
  static const int asked[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
  struct sigaction how = {.sa_handler = act};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) sigaction(asked[i], &how, NULL);
}

static void close_inherited(int fd) {
  if (fd >= aside_fd) close(fd);
  else fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void close_at_exec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

static void to_each_fd(void (*act)(int)) {
  DIR *all = opendir("/proc/self/fd");
  if (all == NULL) give_up("the open files cannot be listed: %s", strerror(errno));
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
    if (none < 0 || aside < 0 || dup2(none, fd) < 0) give_up("the standard streams cannot be set aside: %s", strerror(errno));
  }
  close(none);
}

static void put_variables(void) {
  static const char set[] = order_prefix "SET_";
  for (char **at = given_environment; *at != NULL; at++) {
    if (strncmp(*at, set, sizeof set - 1) == 0) pam.putenv(handle, *at + sizeof set - 1);
  }
}

static void ask_account(void) {
  int status = pam.start(order.service, order.user, &conversation, &handle);
  if (status != PAM_SUCCESS) give_up("PAM (service %s) cannot be asked", order.service);
  if (order.rhost != NULL) pam.set_item(handle, PAM_RHOST, order.rhost);
  if (order.ruser != NULL) pam.set_item(handle, PAM_RUSER, order.ruser);
  pam.set_item(handle, PAM_TTY, order.tty);
  put_variables();
  status = pam.acct_mgmt(handle, 0);
  if (status != PAM_SUCCESS) refuse("account", status);
}

/* In the guardian. */
static void close_session(void) {
  int status = pam.close_session(handle, 0);
  if (has_credentials) pam.setcred(handle, PAM_DELETE_CRED);
  pam.end(handle, status);
}

static void open_session(void) {
  if (initgroups(order.user, order.gid) != 0) give_up("the groups of %s: %s", order.user, strerror(errno));
  /* As in sshd(8): nobody was authenticated by PAM, so that a module may know of no credentials. */
  has_credentials = pam.setcred(handle, PAM_ESTABLISH_CRED) == PAM_SUCCESS;
  int status = pam.open_session(handle, 0);
  if (status != PAM_SUCCESS) {
    if (has_credentials) pam.setcred(handle, PAM_DELETE_CRED);
    refuse("session", status);
  }
  if (!start_guardian(close_session)) {
    close_session();
    give_up("nothing could be started that closes the PAM session");
  }
}

static void become_user(void) {
  uid_t uid = order.uid, real, effective, kept;
  gid_t gid = order.gid, real_group, effective_group, kept_group;
  if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) give_up("%s could not be become: %s", order.user, strerror(errno));
  if (getresuid(&real, &effective, &kept) != 0 || real != uid || effective != uid || kept != uid) give_up("did not become %s", order.user);
  if (getresgid(&real_group, &effective_group, &kept_group) != 0 || real_group != gid || effective_group != gid || kept_group != gid) {
    give_up("did not become %s's group", order.user);
  }
  if (uid != 0 && setuid(0) == 0) give_up("root can be regained after becoming %s", order.user);
  if (chdir(order.home) != 0 && chdir("/") != 0) give_up("no folder can be entered: %s", strerror(errno));
}

static void show_words(void) {
  if (!order.shows || access(".hushlogin", F_OK) == 0) return;
  for (size_t at = 0, length = strlen(words); at < length;) {
    ssize_t written = write(1, words + at, length - at);
    if (written < 0) return;
    at += (size_t)written;
  }
}

static void turn_into(const char *path, char *const argv[], char *const variables[]) {
  execve(path, argv, variables);
  give_up("%s: %s", path, strerror(errno));
}

/* As root: no variable that a module sets, for it may be the user's word, such as LD_PRELOAD of ~/.pam_environment. */
static void turn_into_files(char *const argv[]) {
  static char *const none[] = {NULL};
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", program_fd);
  for (int fd = answer_fd; fd <= reports_fd; fd++) fcntl(fd, F_SETFD, 0);
  turn_into(path, argv, none);
}

static void turn_into_program(const char *path, char *const argv[]) {
  char **variables = session_environment(pam.getenvlist(handle));
  become_user();
  show_words();
  turn_into(path, argv, variables);
}

int main(int argc, char *argv[]) {
  const char *mode = argc > 1 ? argv[1] : "";
  bool is_files = strcmp(mode, "files") == 0, is_session = strcmp(mode, "session") == 0;
  is_fed = is_files;
  if (!take_order(&order)) give_up("not meant to be called by people");
  to_each_fd(close_inherited);
  struct sigaction late = {.sa_handler = take_too_long};
  sigaction(SIGALRM, &late, NULL);
  alarm(answer_limit);
  const char *missing = open_pam_library();
  if (missing != NULL) give_up("%s", missing);
  if (strcmp(mode, "check") == 0) return 0;
  umask(022);
  if (is_files || is_session) set_streams_aside();
  catch_signals(note);
  ask_account();
  if (!(is_files || is_session) || argc < (is_files ? 3 : 4)) return pam.end(handle, PAM_SUCCESS);
  open_session();
  alarm(0);
  catch_signals(SIG_DFL);
  if (asked_to_end != 0) raise(asked_to_end);
  for (int fd = 0; fd < 3; fd++) dup2(aside_fd + fd, fd);
  to_each_fd(close_at_exec);
  if (is_files) turn_into_files(argv + 2);
  turn_into_program(argv[2], argv + 3);
}
