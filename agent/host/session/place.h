#pragma once
#include "order.h"

/*
 * Leaves the agent's place on this host: into the session's control groups, without the agent's protection when memory runs out, and
 * with a limit of processes where no group counts them. As root, before anything of the user's runs. What cannot be done is left out.
 */
void take_place(const struct order *order);
