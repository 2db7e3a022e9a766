/* What code of functions calls, and how an extension is bound to its module. */

static PyObject *GLOBALS;

MAYBE PyObject *sint_boxed(sint a) {
    if (UNLIKELY(a == INT_ERROR)) return NULL;
    if (LIKELY(IS_SHORT(a))) return PyLong_FromSsize_t(VALUE(a));
    return OBJECT(a);
}

MAYBE PyObject *float_boxed(double v) {
    if (UNLIKELY(v == -1.0) && PyErr_Occurred()) return NULL;
    return PyFloat_FromDouble(v);
}

MAYBE PyObject *truth_boxed(int truth) { return UNLIKELY(truth < 0) ? NULL : Py_NewRef(TRUTH(truth)); }

MAYBE PyObject *sdyn_boxed_take(sdyn d) {
    if (UNLIKELY(d.x == INT_ERROR)) return NULL;
    if (IS_SHORT(d.x)) return PyLong_FromSsize_t(VALUE(d.x));
    if (d.x == FLOATING) return PyFloat_FromDouble(d.f);
    return OBJECT(d.x);
}

/* What a Python function has answered in place of a native one, which knows its type. */
COLD static void sema_misfit(PyObject *o) {
    PyErr_Format(PyExc_SystemError, "native code expected another result than %.200s", Py_TYPE(o)->tp_name);
    Py_DECREF(o);
}

MAYBE sint sint_answer(PyObject *o) {
    if (o == NULL || PyLong_CheckExact(o)) return sint_take(o);
    sema_misfit(o);
    return INT_ERROR;
}

MAYBE double float_answer(PyObject *o) {
    double v = -1.0;
    if (o == NULL) return v;
    if (PyFloat_CheckExact(o)) {
        v = PyFloat_AS_DOUBLE(o);
        Py_DECREF(o);
    } else sema_misfit(o);
    return v;
}

MAYBE int truth_answer(PyObject *o) {
    int truth = -1;
    if (o == NULL) return truth;
    if (PyBool_Check(o)) {
        truth = o == Py_True;
        Py_DECREF(o);
    } else sema_misfit(o);
    return truth;
}

/* The Python function in place of the native one. args: new references, the last one a tuple of more if it has a rest. */
COLD static PyObject *sema_deep(PyObject *function, int count, int has_rest, PyObject **args) {
    PyObject *r = NULL, *all = NULL;
    int given = has_rest ? count - 1 : count;
    for (int i = 0; i < count; i++) {
        if (args[i] == NULL) goto done;
    }
    all = PyTuple_New(given + (has_rest ? PyTuple_GET_SIZE(args[given]) : 0));
    if (all == NULL) goto done;
    for (int i = 0; i < given; i++) PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = given; i < PyTuple_GET_SIZE(all); i++) {
        PyTuple_SET_ITEM(all, i, Py_NewRef(PyTuple_GET_ITEM(args[given], i - given)));
    }
    r = SH->plain_call(function, ((PyTupleObject *)all)->ob_item, (size_t)PyTuple_GET_SIZE(all), NULL);
done:
    for (int i = 0; i < count; i++) Py_XDECREF(args[i]);
    Py_XDECREF(all);
    return r;
}

MAYBE int sema_stack_is_short(void) {
    PyThreadState *ts = PyThreadState_Get();
    char *limit = LIKELY(SH->threads[ts->id % THREADS] == ts->id) ? SH->limits[ts->id % THREADS] : sema_find_limit(ts);
    return (char *)(uintptr_t)&ts < limit;
}

COLD static PyObject *sema_shown_int(sint a) { return a == INT_ERROR ? NULL : sint_box(a); }
/* A float that no operation gives: a variable without a value, for those who show it. */
#define UNSET_BITS 0x7ff8736d65530001ULL
FAST double sema_unset(void) {
    uint64_t bits = UNSET_BITS;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

COLD static PyObject *sema_shown_float(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits == UNSET_BITS ? NULL : PyFloat_FromDouble(v);
}

COLD static PyObject *sema_shown_truth(int truth) { return truth == 2 ? NULL : Py_NewRef(TRUTH(truth)); }
COLD static PyObject *sema_shown(sdyn d) { return d.x == INT_ERROR ? NULL : sdyn_box(d); }

MAYBE PyObject *sema_tuple(PyObject *const *items, Py_ssize_t count) {
    PyObject *made = PyTuple_New(count > 0 ? count : 0);
    for (Py_ssize_t i = 0; made && i < count; i++) PyTuple_SET_ITEM(made, i, Py_NewRef(items[i]));
    return made;
}

MAYBE int sdyn_is_true(sdyn d) {
    if (IS_SHORT(d.x)) return d.x != 0;
    if (d.x == FLOATING) return d.f != 0.0;
    return sema_is_true(OBJECT(d.x));
}

MAYBE int sdyn_is(sdyn a, sdyn b) {
    if (a.x == FLOATING && b.x == FLOATING) return memcmp(&a.f, &b.f, sizeof(double)) == 0;
    return a.x == b.x;
}

COLD static int sema_divides(double a, double b) {
    PyObject *x = PyFloat_FromDouble(a), *y = PyFloat_FromDouble(b);
    Py_XDECREF(x && y ? PyNumber_TrueDivide(x, y) : NULL);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return 1;
}

COLD static int sema_math_domain(void) {
    PyErr_SetString(PyExc_ValueError, "math domain error");
    return 1;
}

MAYBE sdyn sema_in_place(PyObject *a, PyObject *b, binaryfunc operation) { return sdyn_take(operation(a, b)); }

MAYBE int sema_range_dyn(sema_range *r, sdyn start, sdyn stop, sdyn step) {
    if (LIKELY(IS_SHORT(start.x) && IS_SHORT(stop.x) && IS_SHORT(step.x))) return sema_range_start(r, start.x, stop.x, step.x);
    PyObject *a = sdyn_box(start), *b = a ? sdyn_box(stop) : NULL, *c = b ? sdyn_box(step) : NULL;
    return sema_range_of(r, a, b, c);
}

MAYBE int sema_push(PyObject *list, PyObject *item) { return PyList_Append(list, item); }

MAYBE int sema_extend(PyObject *list, PyObject *items) {
    Py_ssize_t size = PyList_GET_SIZE(list);
    if (PyList_CheckExact(items) || PyTuple_CheckExact(items)) return PyList_SetSlice(list, size, size, items);
    if (IS_LIST(items)) {
        PyObject *flat = sema_items(items, NULL);
        int done = flat == NULL ? -1 : PyList_SetSlice(list, size, size, flat);
        Py_XDECREF(flat);
        return done;
    }
    PyObject *done = PyObject_CallMethod(list, "extend", "(O)", items);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

MAYBE PyObject *sema_map_d(PyObject *m, PyObject *name) {
    if (LIKELY(IS_MAP(m))) {
        PyObject *d = SLOT(m, MAP_D);
        if (LIKELY(d != NULL)) return Py_NewRef(d);
    }
    return PyObject_GetAttr(m, name);
}

MAYBE PyObject *sema_slice(PyObject *o, PyObject *part) { return PyObject_GetItem(o, part); }

MAYBE PyObject *sema_format(PyObject *o) {
    if (PyUnicode_CheckExact(o)) return Py_NewRef(o);
    if (PyLong_CheckExact(o) || PyFloat_CheckExact(o)) return PyObject_Str(o);
    return PyObject_Format(o, NULL);
}

MAYBE PyObject *sema_join(PyObject **parts, Py_ssize_t count) {
    PyObject *all = sema_tuple(parts, count), *r = all ? PyUnicode_Join(C_empty_str, all) : NULL;
    Py_XDECREF(all);
    return r;
}

/* Whether two strings are equal. */
FAST int sema_same_text(PyObject *a, PyObject *b) {
    if (a == b) return 1;
    Py_ssize_t size = PyUnicode_GET_LENGTH(a);
    if (size != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return 0;
    return memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), (size_t)size * PyUnicode_KIND(a)) == 0;
}

/* `a == b`, where b is a string. */
FAST int sema_equals_text(PyObject *a, PyObject *b) {
    if (LIKELY(PyUnicode_CheckExact(a))) return sema_same_text(a, b);
    return PyObject_RichCompareBool(a, b, Py_EQ);
}

/* `CHARS[text[i]]`; the characters of ASCII are looked up once. */
static PyObject *ASCII[128];

MAYBE PyObject *sema_char(PyObject *text, sdyn index) {
    PyObject *part;
    if (LIKELY(PyUnicode_CheckExact(text) && IS_SHORT(index.x))) {
        Py_ssize_t at = VALUE(index.x), length = PyUnicode_GET_LENGTH(text);
        if (at < 0) at += length;
        if (LIKELY((size_t)at < (size_t)length)) {
            Py_UCS4 c = PyUnicode_READ_CHAR(text, at);
            if (LIKELY(c < 128 && ASCII[c] != NULL)) return Py_NewRef(ASCII[c]);
            part = PyUnicode_FromOrdinal((int)c);
            PyObject *r = part ? PyObject_GetItem(O_CHARS, part) : NULL;
            Py_XDECREF(part);
            if (r && c < 128) ASCII[c] = Py_NewRef(r);
            return r;
        }
    }
    PyObject *i = sdyn_box(index);
    part = i ? PyObject_GetItem(text, i) : NULL;
    PyObject *r = part ? PyObject_GetItem(O_CHARS, part) : NULL;
    Py_XDECREF(i);
    Py_XDECREF(part);
    return r;
}

MAYBE void sema_set_cell(PyObject *cell, PyObject *value) {
    PyObject *old = PyCell_GET(cell);
    PyCell_SET(cell, value);
    Py_XDECREF(old);
}

MAYBE PyObject *sema_closure(PyObject *code, PyObject *globals, PyObject **cells, int count, vectorcallfunc native) {
    if (code == NULL) { /* Python has left it out, as nothing gets here */
        PyErr_SetString(PyExc_SystemError, "a function without code");
        return NULL;
    }
    PyObject *function = PyFunction_New(code, globals);
    if (function == NULL) return NULL;
    if (count) {
        PyObject *closure = sema_tuple(cells, count);
        if (closure == NULL || PyFunction_SetClosure(function, closure) < 0) Py_CLEAR(function);
        Py_XDECREF(closure);
    }
    if (function != NULL && native != NULL) sema_take_over(function, native);
    return function;
}

/* Whether a function was called by one that goes on with a call which it gets back (values/functions.py). */
MAYBE int sema_in_tail(sema_seg *s, sema_frame *frame) {
#ifdef HAS_FRAMES
    if (frame->up != NULL || s->token == NULL) return 0;
    for (sema_seg *other = s->next; other; other = other->next) {
        if (other->token == s->token) return 0; /* called by a native function that the other has called */
    }
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *code = ((struct _PyInterpreterFrame *)s->token)->f_executable;
#else
    PyObject *code = (PyObject *)((struct _PyInterpreterFrame *)s->token)->f_code;
#endif
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(SH->trampolines); i++) {
        if (PyTuple_GET_ITEM(SH->trampolines, i) == code) return 1;
    }
#endif
    return 0;
}

/* `a, b, *more = value`: count new references, and a list of those after them. */
MAYBE int sema_unpack_rest(PyObject *value, Py_ssize_t count, PyObject **into) {
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
        if (size >= count && (into[count] = PyList_New(size - count)) != NULL) {
            for (Py_ssize_t i = 0; i < size; i++) {
                PyObject *item = Py_NewRef(PySequence_Fast_ITEMS(value)[i]);
                if (i < count) into[i] = item;
                else PyList_SET_ITEM(into[count], i - count, item);
            }
            return 0;
        }
        if (size >= count) return -1;
    }
    PyObject *it = PyObject_GetIter(value);
    Py_ssize_t found = 0;
    if (it == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) && Py_TYPE(value)->tp_iter == NULL && !PySequence_Check(value)) {
            PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(value)->tp_name);
        }
        return -1;
    }
    while (found < count && (into[found] = PyIter_Next(it)) != NULL) found++;
    if (found < count && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %zd, got %zd)", count, found);
    }
    into[count] = found == count ? PySequence_List(it) : NULL;
    Py_DECREF(it);
    if (into[count] != NULL) return 0;
    while (found > 0) Py_DECREF(into[--found]);
    return -1;
}

/* Errors */

COLD static void sema_raise(PyObject *what, PyObject *cause) {
    PyObject *error = PyExceptionClass_Check(what) ? PyObject_CallNoArgs(what) : Py_NewRef(what);
    if (error == NULL) return;
    if (!PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
    } else {
        if (cause != NULL) PyException_SetCause(error, cause == Py_None ? NULL : Py_NewRef(cause));
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    }
    Py_DECREF(error);
}

/* Goes on with an error whose traceback is complete. error: given away. */
COLD static void sema_go_on(PyObject *error) {
    PyObject *kind = Py_NewRef((PyObject *)Py_TYPE(error));
    PyErr_Restore(kind, error, PyException_GetTraceback(error));
}

COLD static void sema_raise_again(void) {
    PyObject *error = PyErr_GetHandledException();
    if (error == NULL || error == Py_None) PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
    else sema_go_on(Py_NewRef(error));
    Py_XDECREF(error);
}

MAYBE int sema_is_instance(PyObject *o, PyObject *type) {
    return IS_A(o, type) ? 1 : PyObject_IsInstance(o, type);
}

/* `with` */
MAYBE PyObject *sema_special(PyObject *o, PyObject *name) { return PyObject_GetAttr(o, name); }

MAYBE int sema_exit(PyObject *exit) {
    PyObject *r = sema_call3(exit, Py_None, Py_None, Py_None);
    Py_XDECREF(r);
    return r == NULL ? -1 : 0;
}

/* The same with the error that is handled: whether it is to be forgotten. */
COLD static int sema_exit_error(PyObject *exit) {
    PyObject *error = PyErr_GetHandledException(), *trace = PyException_GetTraceback(error);
    PyObject *r = sema_call3(exit, (PyObject *)Py_TYPE(error), error, trace ? trace : Py_None);
    int truth = r == NULL ? -1 : PyObject_IsTrue(r);
    Py_XDECREF(r);
    Py_XDECREF(trace);
    Py_XDECREF(error);
    return truth;
}

MAYBE PyObject *sema_import(PyObject *globals, PyObject *module, PyObject *names) {
    return PyImport_ImportModuleLevelObject(module, globals, NULL, names, 0);
}

COLD static PyObject *sema_imported(PyObject *module, PyObject *name) {
    PyObject *value = PyObject_GetAttr(module, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ImportError, "cannot import name %R from %R", name, module);
    }
    return value;
}

/* The error that is set, which counts as handled from here on; saved: what did before. */
COLD static PyObject *sema_caught(PyObject **saved) {
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyErr_NormalizeException(&kind, &error, &trace);
    if (trace != NULL) PyException_SetTraceback(error, trace);
    *saved = PyErr_GetHandledException();
    PyErr_SetHandledException(error);
    Py_XDECREF(kind);
    Py_XDECREF(trace);
    return error;
}

COLD static void sema_handled(PyObject *saved) {
    PyErr_SetHandledException(saved);
    Py_XDECREF(saved);
}

MAYBE PyObject *sema_default(PyObject *function, int index) {
    return PyTuple_GET_ITEM(((PyFunctionObject *)function)->func_defaults, index);
}

/* Binding */

static PyObject **sema_slot_at(int index);
static vectorcallfunc sema_wrapper_at(int index);
static vectorcallfunc sema_operator_at(int index);
static void sema_constants(PyObject *values, PyObject *names, PyObject *builtins, PyObject *objects);

/* What C knows of the runtime, in the order in which `begin` gets it; None for what isn't loaded. */
static PyObject **const KNOWN[] = {&T_List, &T_Map, &T_HashMap, &T_Array, &T_Keyword, &T_Symbol, &T_Char, &T_Moved,
                                   &T_Multi, &O_EMPTY, &O_CHARS, &O_KEYWORDS, &O_take, &O_let_go, &O_stored,
                                   &T_ThrownMap, &O_TYPE, &O_VALUE, &O_USER};
#define KNOWN_COUNT ((Py_ssize_t)(sizeof(KNOWN) / sizeof(*KNOWN)))

/* begin(shared or None, globals, constants, names, builtins, objects, known, (failed, breathe, trampolines, missing)) */
static PyObject *sema_begin(PyObject *module, PyObject *args) {
    PyObject *values, *names, *builtins, *objects, *known, *shared, *failed, *breathe, *trampolines, *missing;
    if (!PyArg_ParseTuple(args, "OO!O!O!O!O!O!(OOO!O)", &shared, &PyDict_Type, &GLOBALS, &PyTuple_Type, &values,
                          &PyTuple_Type, &names, &PyTuple_Type, &builtins, &PyTuple_Type, &objects, &PyTuple_Type, &known,
                          &failed, &breathe, &PyTuple_Type, &trampolines, &missing)) return NULL;
    if (PyTuple_GET_SIZE(known) != KNOWN_COUNT) {
        PyErr_SetString(PyExc_ImportError, "made for another runtime");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < KNOWN_COUNT; i++) *KNOWN[i] = Py_NewRef(PyTuple_GET_ITEM(known, i));
    PyObject *kept[] = {GLOBALS, failed, breathe, trampolines, missing};
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) Py_INCREF(kept[i]);
    C_cached = PyLong_FromLong(-1);
    C_source = PyUnicode_InternFromString("source");
    C_default = PyUnicode_InternFromString("default");
    C_empty_str = PyUnicode_FromString("");
    C_empty_tuple = PyTuple_New(0);
    PyObject *back = PyLong_FromLong(-1);
    C_backwards = back == NULL ? NULL : PySlice_New(NULL, NULL, back);
    if (C_empty_str == NULL || C_empty_tuple == NULL || C_backwards == NULL || C_source == NULL) return NULL;
    sema_constants(values, names, builtins, objects);
    if (shared != Py_None) {
        SH = PyCapsule_GetPointer(shared, "sema");
        return SH == NULL ? NULL : Py_NewRef(shared);
    }
    SH = PyMem_Calloc(1, sizeof(sema_state));
    if (SH == NULL) return PyErr_NoMemory();
    SH->plain_call = ((PyFunctionObject *)breathe)->vectorcall;
    SH->failed = failed;
    SH->breathe = breathe;
    SH->trampolines = trampolines;
    SH->missing = missing;
    return PyCapsule_New(SH, "sema", NULL);
}

/* fill(index, object): sets a variable of C. */
static PyObject *sema_fill(PyObject *module, PyObject *args) {
    int index;
    PyObject *value;
    if (!PyArg_ParseTuple(args, "iO", &index, &value)) return NULL;
    Py_XSETREF(*sema_slot_at(index), Py_NewRef(value));
    if (Py_IS_TYPE(value, &PyFunction_Type) && sema_is_plain(value) && sema_operator_at(index) != NULL) {
        sema_take_over(value, sema_operator_at(index));
    }
    Py_RETURN_NONE;
}

/* take(index, function): has calls of a function from C run natively. */
static PyObject *sema_take(PyObject *module, PyObject *args) {
    int index;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "iO!", &index, &PyFunction_Type, &function)) return NULL;
    if (sema_wrapper_at(index) != NULL) sema_take_over(function, sema_wrapper_at(index));
    Py_RETURN_NONE;
}

/* calls(frame): the native frames that a frame of Python has below it. */
static PyObject *sema_calls(PyObject *module, PyObject *frame) {
#ifdef HAS_FRAMES
    if (PyFrame_Check(frame)) return sema_native_calls(((PyFrameObject *)frame)->f_frame);
#endif
    return PyList_New(0);
}

/* plan(): what an extension keeps of its own, for `marshal`. */
static PyObject *sema_own_plan(PyObject *module, PyObject *none);

#define SEMA_METHODS                                     \
    {"sema_plan", sema_own_plan, METH_NOARGS, NULL},      \
    {"sema_begin", sema_begin, METH_VARARGS, NULL},      \
    {"sema_fill", sema_fill, METH_VARARGS, NULL},        \
    {"sema_take", sema_take, METH_VARARGS, NULL},        \
    {"sema_calls", sema_calls, METH_O, NULL},

#define SEMA_MODULE(name)                                                                    \
    static PyObject *sema_own_plan(PyObject *module, PyObject *none) {                       \
        return PyBytes_FromStringAndSize((const char *)PLAN, PLAN_SIZE);                     \
    }                                                                                        \
    static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, #name, NULL, -1, METHODS, NULL, NULL, NULL, NULL}; \
    PyMODINIT_FUNC PyInit_##name(void) { return PyModule_Create(&MODULE); }
