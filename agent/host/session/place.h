#pragma once
#include "order.h"

/*
 * Leaves the agent's place on this host: into the session's control groups, without the agent's protection when memory runs out, and
 * with a process limit where no group counts them. As root, before the user's programs run. A step that fails is skipped.
 */
void take_place(const struct order *order);
