#pragma once
#include <node_api.h>
#include <stdbool.h>

napi_value packet_pair(napi_env env, napi_callback_info info);
napi_value peer_state(napi_env env, napi_callback_info info);
napi_value record_logout(napi_env env, napi_callback_info info);
napi_value socket_pair(napi_env env, napi_callback_info info);
napi_value start_program(napi_env env, napi_callback_info info);
napi_value take_descriptor(napi_env env, napi_callback_info info);
napi_value take_end(napi_env env, napi_callback_info info);
