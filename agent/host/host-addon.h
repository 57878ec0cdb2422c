#pragma once
#include <node_api.h>

napi_value record_logout(napi_env env, napi_callback_info info);
