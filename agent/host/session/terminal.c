#define _GNU_SOURCE
#include "terminal.h"
#include "login-record.h"
#include "terminal-modes.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As grantpt(3): members of the group tty may write to it. */
static void give_to_user(const struct order *order) {
  const struct group *tty = getgrnam("tty");
  if (chown(order->terminal, order->uid, tty == NULL ? order->gid : tty->gr_gid) != 0 || chmod(order->terminal, tty == NULL ? 0600 : 0620) != 0) {
    give_up("could not give %s to %s: %s", order->terminal, order->user, strerror(errno));
  }
}

void adopt_terminal(const struct order *order) {
  if (order->becomes) give_to_user(order);
  for (int fd = 0; fd < 3; fd++) {
    close(fd);
    /* The first terminal that a session's leader opens becomes its controlling one. */
    if (open(order->terminal, O_RDWR) != fd) give_up("could not open %s: %s", order->terminal, strerror(errno));
  }
  if (order->modes != NULL) set_modes(STDIN_FILENO, order->modes);
  if (order->becomes) record_login(order);
}
