/* What every extension that semac makes begins with: stacks of native frames, traces, functions with two bodies.

A native function works on the objects that Python code works on. It has a frame on the C stack while it runs; frames of
one entry from Python form a segment. An error becomes a traceback of ordinary frame objects, whose code is that of the
Python twin of each function and whose instruction is that of the failed operation: all that reads tracebacks reads
these. Near the end of the C stack the Python twins are called instead. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((cold, noinline, unused))
#define FAST static inline __attribute__((always_inline, unused))
#define MAYBE static inline __attribute__((unused))
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define COLD
#define FAST static __forceinline
#define MAYBE static inline
#endif

/* Frames of the interpreter, whose variables debuggers and messages read. Other versions of Python go without. */
#if defined(__has_include) && PY_VERSION_HEX < 0x030e0000
#if __has_include("internal/pycore_frame.h")
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "internal/pycore_frame.h"
#define HAS_FRAMES 1
#endif
#endif

/* Where an operation stands. code: 0 is the function's own, others are those of its comprehensions; up: the site of the
code around a comprehension, or -1. */
typedef struct {
    int code, up, lasti, line;
} sema_site;

typedef struct {
    const sema_site *sites;
    const char *const *locals; /* names of variables, and 0 */
    const int *local_codes;    /* whose code each belongs to */
    int *local_places;         /* where each stands in a frame, and 1; 0 where that isn't known yet, -1 for nowhere */
    PyObject **codes;
    PyObject **globals;
} sema_fn;

typedef struct sema_frame {
    struct sema_frame *up;
    const sema_fn *fn;
    int site;
} sema_frame;

/* How many calls Python still allows, of which native functions count as many as their Python twins. */
#if PY_VERSION_HEX >= 0x030c0000
#define CALLS_LEFT py_recursion_remaining
#else
#define CALLS_LEFT recursion_remaining
#endif

/* The frames of one entry. token: the frame of the interpreter that entered; limit: how far the C stack may grow;
left: how many calls Python still allows. */
typedef struct sema_seg {
    sema_frame *top;
    char *limit;
    int *left;
    unsigned ticks;
    void *token;
    struct sema_seg *next, *prev;
} sema_seg;

#define THREADS 16
/* Shared by all extensions of a process. */
typedef struct {
    sema_seg *newest, *pool;
    uint64_t threads[THREADS];
    char *limits[THREADS];
    vectorcallfunc plain_call;
    PyObject *failed, *breathe, *trampolines, *missing;
} sema_state;

static sema_state *SH;
static PyObject *C_empty_str, *C_empty_tuple, *C_backwards, *C_source, *C_default;
static PyObject *C_cached; /* the `note` of a cell whose items are a cache */

#define POLL_MASK 0x3fff

#define MOST_STACK (40 << 20)

COLD static char *sema_stack_end(void) {
    /* The lowest address of the C stack of this thread; NULL where it isn't known. */
#if defined(__APPLE__)
    pthread_t self = pthread_self();
    return (char *)pthread_get_stackaddr_np(self) - pthread_get_stacksize_np(self);
#elif defined(__linux__)
    pthread_attr_t attributes;
    void *end = NULL;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
    if (pthread_attr_getstack(&attributes, &end, &size) != 0) end = NULL;
    pthread_attr_destroy(&attributes);
    return end;
#else
    return NULL;
#endif
}

COLD static char *sema_find_limit(PyThreadState *ts) {
    /* The lowest address that native frames may reach: half of what is left, the rest is for what they call. */
    char *here = (char *)&ts, *end = sema_stack_end();
    size_t room = end != NULL && end < here ? (size_t)(here - end) : 0;
    char *limit = here - (room / 2 < MOST_STACK ? room / 2 : MOST_STACK);
    SH->threads[ts->id % THREADS] = ts->id;
    SH->limits[ts->id % THREADS] = limit;
    return limit;
}

FAST void *sema_current_frame(PyThreadState *ts) {
#if PY_VERSION_HEX >= 0x030d0000
    return ts->current_frame;
#else
    return ts->cframe->current_frame;
#endif
}

FAST sema_seg *sema_enter(void) {
    sema_seg *s = SH->pool;
    PyThreadState *ts = PyThreadState_Get();
    if (LIKELY(s != NULL)) SH->pool = s->next;
    else if ((s = PyMem_Malloc(sizeof(sema_seg))) == NULL) Py_FatalError("out of memory");
    s->top = NULL;
    s->ticks = 0;
    s->left = &ts->CALLS_LEFT;
    s->limit = LIKELY(SH->threads[ts->id % THREADS] == ts->id) ? SH->limits[ts->id % THREADS] : sema_find_limit(ts);
    s->token = sema_current_frame(ts);
    s->prev = NULL;
    s->next = SH->newest;
    if (s->next) s->next->prev = s;
    SH->newest = s;
    return s;
}

FAST void sema_leave(sema_seg *s) {
    if (s->prev) s->prev->next = s->next;
    else SH->newest = s->next;
    if (s->next) s->next->prev = s->prev;
    s->next = SH->pool;
    SH->pool = s;
}

FAST int sema_is_deep(sema_seg *s) {
    char here;
    return UNLIKELY((char *)(uintptr_t)&here < s->limit || *s->left <= 0);
}

COLD static int sema_breathe(sema_seg *s) {
    /* Calls Python code, which lets signals and other threads have their turn. */
    PyObject *done = PyObject_CallNoArgs(SH->breathe);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

#define TICK(s) (UNLIKELY((++(s)->ticks & POLL_MASK) == 0) && sema_breathe(s) < 0)

/* Traces */

COLD static int sema_place_of(PyObject *names, const char *name) {
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(names); at++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, at), name) == 0) return (int)at + 1;
    }
    return -1;
}

COLD static void sema_set_locals(PyFrameObject *frame, PyCodeObject *code, const sema_fn *fn, int which,
                                 PyObject **values, int lasti) {
#ifdef HAS_FRAMES
    PyObject *names = code->co_localsplusnames;
#if PY_VERSION_HEX >= 0x030d0000
    frame->f_frame->instr_ptr = _PyCode_CODE(code) + lasti / 2;
#else
    frame->f_frame->prev_instr = _PyCode_CODE(code) + lasti / 2;
#endif
    for (int i = 0; values != NULL && fn->locals[i]; i++) {
        if (values[i] == NULL || fn->local_codes[i] != which) continue;
        if (fn->local_places[i] == 0) fn->local_places[i] = sema_place_of(names, fn->locals[i]);
        if (fn->local_places[i] > 0) {
            Py_XSETREF(frame->f_frame->localsplus[fn->local_places[i] - 1], Py_NewRef(values[i]));
        }
    }
    /* Variables of a function around it are cells, which Python reads without asking whether they are there. */
    for (int at = code->co_nlocalsplus - code->co_nfreevars; at < code->co_nlocalsplus; at++) {
        PyObject **free = &frame->f_frame->localsplus[at];
        if (*free == NULL || !PyCell_Check(*free)) Py_XSETREF(*free, PyCell_New(*free));
    }
#endif
}

COLD static void sema_trace(const sema_fn *fn, int site, PyObject **values) {
    /* Adds what stands for the frames of a function to the traceback of the error that is set. values: of its
    variables, in the order of fn->locals, NULL for one without. */
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    while (site >= 0) {
        const sema_site *at = &fn->sites[site];
        PyCodeObject *code = (PyCodeObject *)fn->codes[at->code];
        PyFrameObject *frame = code ? PyFrame_New(PyThreadState_Get(), code, *fn->globals, NULL) : NULL;
        if (frame == NULL) break;
        sema_set_locals(frame, code, fn, at->code, values, at->lasti);
        PyTracebackObject *longer = PyObject_GC_New(PyTracebackObject, &PyTraceBack_Type);
        if (longer != NULL) {
            longer->tb_next = (PyTracebackObject *)trace;
            longer->tb_frame = frame;
            longer->tb_lasti = at->lasti;
            longer->tb_lineno = at->line;
            PyObject_GC_Track(longer);
            trace = (PyObject *)longer;
        } else Py_DECREF(frame);
        if (longer == NULL) break;
        site = at->up;
    }
    PyErr_Clear();
    PyErr_Restore(kind, error, trace);
}

/* The native frames between a frame of the interpreter and what it has called, for `:stack-trace`, as a list of
(code, globals, instruction, line), innermost first; an empty tuple where there are none. */
static PyObject *sema_native_call(const sema_fn *fn, const sema_site *at) {
    PyObject *call = PyTuple_New(4), *code = fn->codes[at->code];
    if (call == NULL) return NULL;
    PyTuple_SET_ITEM(call, 0, Py_NewRef(code ? code : Py_None));
    PyTuple_SET_ITEM(call, 1, Py_NewRef(*fn->globals));
    PyTuple_SET_ITEM(call, 2, PyLong_FromLong(at->lasti));
    PyTuple_SET_ITEM(call, 3, PyLong_FromLong(at->line));
    if (PyTuple_GET_ITEM(call, 2) == NULL || PyTuple_GET_ITEM(call, 3) == NULL) Py_CLEAR(call);
    return call;
}

static PyObject *sema_native_calls(void *token) {
    PyObject *calls = NULL;
    for (sema_seg *s = SH->newest; s; s = s->next) {
        if (s->token != token) continue;
        if (calls == NULL && (calls = PyList_New(0)) == NULL) return NULL;
        for (sema_frame *f = s->top; f; f = f->up) {
            for (int site = f->site; site >= 0; site = f->fn->sites[site].up) {
                PyObject *call = sema_native_call(f->fn, &f->fn->sites[site]);
                if (call == NULL || PyList_Append(calls, call) < 0) Py_CLEAR(calls);
                Py_XDECREF(call);
                if (calls == NULL) return NULL;
            }
        }
    }
    return calls ? calls : Py_NewRef(C_empty_tuple);
}

/* Functions of Python whose calls from C run natively */

MAYBE PyObject *sema_plain(PyObject *function, PyObject *const *args, Py_ssize_t count) {
    return SH->plain_call(function, args, count, NULL);
}

MAYBE void sema_take_over(PyObject *function, vectorcallfunc native) {
    PyFunctionObject *f = (PyFunctionObject *)function;
    if (SH->plain_call == NULL) SH->plain_call = f->vectorcall;
#if PY_VERSION_HEX >= 0x030c0000
    PyFunction_SetVectorcall(f, native);
#else
    f->vectorcall = native;
    f->func_version = 0;
#endif
}

FAST int sema_is_plain(PyObject *function) {
    return Py_IS_TYPE(function, &PyFunction_Type) && ((PyFunctionObject *)function)->vectorcall == SH->plain_call;
}
