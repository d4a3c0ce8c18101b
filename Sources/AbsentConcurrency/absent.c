// What swift-argument-parser refers to of Swift's concurrency: its protocol of asynchronous commands,
// which no command here is of. `make build` links this file in place of the library, which brings
// libdispatch: 0.8 MB, and 31 pages and 20 calls of the kernel before `main`, 5 % of `--version`.
//
// Were another symbol needed, the linker would take the library too and fail with "duplicate symbol".
// Other builds, and the tests, have the library itself.
#include "absent.h"

#include <stdlib.h>

void swift_task_alloc(void) { abort(); }

void swift_task_dealloc(void) { abort(); }

void swift_task_switch(void) { abort(); }
