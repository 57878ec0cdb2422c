#pragma once
#include <stdbool.h>
#include <sys/types.h>

/*
 * The agent's order. It comes in the environment, which only root may read of root's process, by the names below with
 * PLATFORM_ORDER_ before them. The rest of the environment is the session's.
 */
struct order {
  /* USER, HOME. */
  const char *user, *home;
  /* UID, GID: the user to become, or the current one. */
  uid_t uid;
  gid_t gid;
  /* BECOME: this is root's process, and must become the user. */
  bool becomes;
  /* TERMINAL: path of the terminal that becomes the session's; NULL: the standard streams are as they are. */
  const char *terminal;
  /* MODES: how it is set, see terminal-modes.h; NULL: as the system has it. */
  const char *modes;
  /* RHOST: address of the client; NULL: not known. */
  const char *rhost;
  /* SERVICE: PAM's; NULL: it is not asked. RUSER: the user in the cluster. SHOWS: a shell at a terminal shows the modules' messages. */
  const char *service, *ruser;
  bool shows;
  /* GROUPS: folders of the session's control groups, with colons between; NULL: none. TASKS: most of the user's processes; 0: others count them. */
  const char *groups;
  unsigned int tasks;
};

/* Takes the order out of this process's environment, and leaves one in which nothing comes from outside. */
bool take_order(struct order *order);

/*
 * Descriptors: through `answer_fd` a refusal goes back; `reports_fd` and the program at `program_fd` are for `files`, and where its reports
 * would go, `sockets` hands sockets over (user-sockets.h); from `aside_fd` on
 * the three standard streams wait, and from `modules_fd` on are those that modules open.
 */
enum { answer_fd = 3, reports_fd = 4, program_fd = 5, aside_fd = 6, modules_fd = 9 };

/*
 * Reads away what waits at the answer's descriptor for the program: unread, it would destroy the answer at the end. With
 * MSG_DONTWAIT only what has come; else all, until the agent has ended its side.
 */
void drain(int flags);

/* Whether something waits there. */
extern bool is_fed;

/* Sends the agent a sentence, and exits. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
