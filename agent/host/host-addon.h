#pragma once
#include <node_api.h>
#include <stdbool.h>

/* A string argument, always with an end. False, and an exception in JavaScript, when it is none or does not fit. */
bool get_text(napi_env env, napi_value value, char *text, size_t size);

napi_value record_login(napi_env env, napi_callback_info info);
napi_value record_logout(napi_env env, napi_callback_info info);
