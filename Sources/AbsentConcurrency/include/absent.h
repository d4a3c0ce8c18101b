#ifndef AUTHCTL_ABSENT_H
#define AUTHCTL_ABSENT_H

/// Each ends the process.
_Noreturn void swift_task_alloc(void);
_Noreturn void swift_task_dealloc(void);
_Noreturn void swift_task_switch(void);

#endif
