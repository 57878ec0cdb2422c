/*
 * Stands in for node_object_wrap.h of Node 24.21, whose destructor asks for the current environment to take back a cleanup
 * hook. The garbage collector often runs where there is none, and then the process aborts ("Assertion failed: (env) !=
 * nullptr"): seen after each re-keying, when old ciphers are collected. This one has no hook: at the end of the process
 * its memory goes with everything else.
 */
#ifndef SRC_NODE_OBJECT_WRAP_H_
#define SRC_NODE_OBJECT_WRAP_H_

#include <cassert>

#include "v8.h"

namespace node {

class ObjectWrap {
 public:
  ObjectWrap() = default;

  virtual ~ObjectWrap() {
    if (handle_.IsEmpty()) return;
    handle_.ClearWeak();
    handle_.Reset();
  }

  template <class T>
  static inline T* Unwrap(v8::Local<v8::Object> handle) {
    assert(handle->InternalFieldCount() > 0);
    return static_cast<T*>(static_cast<ObjectWrap*>(handle->GetAlignedPointerFromInternalField(0)));
  }

 protected:
  inline void Wrap(v8::Local<v8::Object> handle) {
    assert(handle_.IsEmpty() && handle->InternalFieldCount() > 0);
    handle->SetAlignedPointerInInternalField(0, this);
    handle_.Reset(v8::Isolate::GetCurrent(), handle);
    handle_.SetWeak(this, Collected, v8::WeakCallbackType::kParameter);
  }

 private:
  static void Collected(const v8::WeakCallbackInfo<ObjectWrap>& data) {
    ObjectWrap* wrap = data.GetParameter();
    wrap->handle_.Reset();
    delete wrap;
  }

  v8::Persistent<v8::Object> handle_;
};

}  // namespace node

#endif  // SRC_NODE_OBJECT_WRAP_H_
