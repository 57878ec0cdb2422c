#pragma once
#include <utmp.h>

/*
 * utmp(5) and wtmp, as sshd(8) writes them for sessions at a terminal. A system that keeps no such file gets none. Our records have an
 * id of their own: P and the terminal's number in base 36. So no other program overwrites them, and they can be found again.
 */
enum { own_mark = 'P' };

void set_time(struct utmp *record);

/* In one write: others append too. */
void append_wtmp(const struct utmp *record);
