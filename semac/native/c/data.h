/* Lists, maps, records and calls, as the code of the runtime has them: the same objects, read without a lookup. */

static PyObject *T_List, *T_Map, *T_HashMap, *T_Array, *T_Keyword, *T_Symbol, *T_Char, *T_Moved, *T_Multi;
static PyObject *T_ThrownMap, *O_TYPE, *O_VALUE, *O_USER; /* of errors that are caught */
static PyObject *O_EMPTY, *O_CHARS, *O_KEYWORDS, *O_take, *O_let_go, *O_stored;

/* The slots of an object without a dict, which Python lays out in the order of their names. */
#define SLOT(o, index) (((PyObject **)((char *)(o) + sizeof(PyObject)))[index])
#define LIST_CAR 0
#define LIST_EMPTY 1
#define LIST_FLAT 2
#define LIST_NEXT 3
#define LIST_NOTE 4
#define MAP_FACE 0
#define MAP_ORDER 2
#define MAP_AGE 3
#define MAP_D 4
#define ATOM_NAME 0 /* of keywords, symbols and characters */
#define IS_A(o, type) ((PyObject *)Py_TYPE(o) == (type))
#define IS_LIST(o) IS_A(o, T_List)
#define IS_MAP(o) (IS_A(o, T_Map) || IS_A(o, T_HashMap))
#define TRUTH(x) ((x) ? Py_True : Py_False)

FAST int sema_is_true(PyObject *o) {
    if (o == Py_True) return 1;
    if (o == Py_False || o == Py_None) return 0;
    return PyObject_IsTrue(o);
}

/* The attribute in a slot of objects of one type; of others as Python finds it. */
FAST PyObject *sema_slot(PyObject *o, PyObject *type, int index, PyObject *name) {
    if (LIKELY(IS_A(o, type))) {
        PyObject *value = SLOT(o, index);
        if (LIKELY(value != NULL)) return Py_NewRef(value);
    }
    return PyObject_GetAttr(o, name);
}

/* The same as a dynamic value: a number is read without its object. */
FAST sdyn sema_slot_dyn(PyObject *o, PyObject *type, int index, PyObject *name) {
    if (LIKELY(IS_A(o, type))) {
        PyObject *value = SLOT(o, index);
        if (LIKELY(value != NULL)) return sdyn_keep(sdyn_of(value));
    }
    return sdyn_take(PyObject_GetAttr(o, name));
}

FAST int sema_set_slot(PyObject *o, PyObject *type, int index, PyObject *name, PyObject *value) {
    if (LIKELY(IS_A(o, type))) {
        PyObject *old = SLOT(o, index);
        SLOT(o, index) = Py_NewRef(value);
        Py_XDECREF(old);
        return 0;
    }
    return PyObject_SetAttr(o, name, value);
}

/* Calls. Keywords look themselves up, multimethods choose a method: neither needs a frame of Python. */

static PyObject *sema_call_other1(PyObject *f, PyObject *a);
static PyObject *sema_call_other2(PyObject *f, PyObject *a, PyObject *b);

FAST PyObject *sema_call0(PyObject *f) { return PyObject_CallNoArgs(f); }

FAST PyObject *sema_call1(PyObject *f, PyObject *a) {
    PyObject *args[2] = {NULL, a};
    if (UNLIKELY(!Py_IS_TYPE(f, &PyFunction_Type))) return sema_call_other1(f, a);
    return ((PyFunctionObject *)f)->vectorcall(f, args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

FAST PyObject *sema_call2(PyObject *f, PyObject *a, PyObject *b) {
    PyObject *args[3] = {NULL, a, b};
    if (UNLIKELY(!Py_IS_TYPE(f, &PyFunction_Type))) return sema_call_other2(f, a, b);
    return ((PyFunctionObject *)f)->vectorcall(f, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

FAST PyObject *sema_call3(PyObject *f, PyObject *a, PyObject *b, PyObject *c) {
    PyObject *args[4] = {NULL, a, b, c};
    return PyObject_Vectorcall(f, args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* A global of a module, of which it need not have one: builtins come after. */
FAST PyObject *sema_global(PyObject *globals, PyObject *name) {
    PyObject *value = PyDict_GetItemWithError(globals, name);
    if (LIKELY(value != NULL)) return Py_NewRef(value);
    if (PyErr_Occurred()) return NULL;
    value = PyDict_GetItemWithError(PyEval_GetBuiltins(), name);
    if (value != NULL) return Py_NewRef(value);
    if (!PyErr_Occurred()) {
        PyObject *text = PyUnicode_FromFormat("name '%U' is not defined", name);
        PyObject *error = text ? PyObject_CallFunctionObjArgs(PyExc_NameError, text, NULL) : NULL;
        if (error && PyObject_SetAttrString(error, "name", name) == 0) PyErr_SetObject(PyExc_NameError, error);
        Py_XDECREF(text);
        Py_XDECREF(error);
    }
    return NULL;
}

COLD static void sema_unbound(const char *name, int is_free) {
    if (is_free) {
        PyErr_Format(PyExc_NameError, "cannot access free variable '%s' where it is not associated with a value in "
                                      "enclosing scope", name);
    } else {
        PyErr_Format(PyExc_UnboundLocalError, "cannot access local variable '%s' where it is not associated with a value",
                     name);
    }
}

/* What can't be part of a cycle need not be visited by the collector of garbage: atoms, and lists, maps and vectors of
nothing else, which don't change. In a list or map that isn't visited nothing is overlooked but what Python code puts
there by force. */
static int sema_is_leaf(PyObject *o) {
    if (PyUnicode_CheckExact(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || o == Py_None || PyBool_Check(o)
        || IS_A(o, T_Keyword) || IS_A(o, T_Symbol) || IS_A(o, T_Char)) return 1;
    if (IS_LIST(o) || IS_MAP(o)) return !PyObject_GC_IsTracked(o);
    if (!PyTuple_CheckExact(o)) return 0;
    if (!PyObject_GC_IsTracked(o)) return 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++) {
        if (!sema_is_leaf(PyTuple_GET_ITEM(o, i))) return 0;
    }
    PyObject_GC_UnTrack(o);
    return 1;
}

#define FEW_LEAVES 64 /* one container may be made a list or map of many times */

/* Has a new list and its items not be visited, where all of these are leaves. */
MAYBE void sema_untrack_list(PyObject *xs, PyObject *items) {
    if (!(PyList_CheckExact(items) || PyTuple_CheckExact(items)) || PySequence_Fast_GET_SIZE(items) > FEW_LEAVES) return;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); i++) {
        if (!sema_is_leaf(PySequence_Fast_ITEMS(items)[i])) return;
    }
    PyObject_GC_UnTrack(items);
    PyObject_GC_UnTrack(xs);
}

MAYBE void sema_untrack_map(PyObject *m, PyObject *d) {
    PyObject *key, *value;
    if (PyDict_GET_SIZE(d) > FEW_LEAVES) return;
    for (Py_ssize_t at = 0; PyDict_Next(d, &at, &key, &value);) {
        if (!sema_is_leaf(value) || !sema_is_leaf(key)) return;
    }
    PyObject_GC_UnTrack(d);
    PyObject_GC_UnTrack(m);
}

/* Lists of the language */

FAST PyObject *sema_new(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0); }

/* `List(items)` of a Python list or tuple, whose reference is given away. */
FAST PyObject *sema_list_take(PyObject *items) {
    if (UNLIKELY(items == NULL)) return NULL;
    PyObject *xs = sema_new(T_List);
    if (UNLIKELY(xs == NULL)) {
        Py_DECREF(items);
        return NULL;
    }
    int some = PyList_CheckExact(items) ? PyList_GET_SIZE(items) > 0 : PyTuple_GET_SIZE(items) > 0;
    PyObject *first = !some ? Py_None : PyList_CheckExact(items) ? PyList_GET_ITEM(items, 0) : PyTuple_GET_ITEM(items, 0);
    SLOT(xs, LIST_CAR) = Py_NewRef(first);
    SLOT(xs, LIST_EMPTY) = Py_NewRef(some ? Py_False : Py_True);
    SLOT(xs, LIST_FLAT) = items;
    SLOT(xs, LIST_NEXT) = Py_NewRef(Py_None);
    sema_untrack_list(xs, items);
    return xs;
}

MAYBE PyObject *sema_list_of(PyObject *items) {
    if (PyList_CheckExact(items) || PyTuple_CheckExact(items)) return sema_list_take(Py_NewRef(items));
    return sema_call1(T_List, items);
}

/* `Map(d)` of a dict, whose reference is given away. */
FAST PyObject *sema_map_take(PyObject *type, PyObject *d) {
    if (UNLIKELY(d == NULL)) return NULL;
    PyObject *m = sema_new(type);
    if (UNLIKELY(m == NULL)) {
        Py_DECREF(d);
        return NULL;
    }
    SLOT(m, MAP_D) = d;
    SLOT(m, MAP_ORDER) = Py_NewRef(Py_None);
    SLOT(m, MAP_FACE) = Py_NewRef(Py_None);
    if (PyDict_CheckExact(d)) sema_untrack_map(m, d);
    return m;
}

MAYBE PyObject *sema_map_of(PyObject *type, PyObject *d) {
    return PyDict_CheckExact(d) ? sema_map_take(type, Py_NewRef(d)) : sema_call1(type, d);
}

/* `xs.empty` as a truth. */
FAST int sema_is_empty(PyObject *xs, PyObject *name) {
    if (LIKELY(IS_LIST(xs))) return SLOT(xs, LIST_EMPTY) == Py_True;
    PyObject *value = PyObject_GetAttr(xs, name);
    int truth = value == NULL ? -1 : sema_is_true(value);
    Py_XDECREF(value);
    return truth;
}

FAST int sema_null_truth(PyObject *xs, PyObject *f) {
    if (LIKELY(IS_LIST(xs))) return SLOT(xs, LIST_EMPTY) == Py_True;
    PyObject *value = sema_call1(f, xs);
    int truth = value == NULL ? -1 : sema_is_true(value);
    Py_XDECREF(value);
    return truth;
}

static PyObject *sema_flatten(PyObject *cell);

/* `xs.flat or xs.items`, or one of them: the items of a list as a sequence. */
FAST PyObject *sema_items(PyObject *xs, PyObject *name) {
    if (LIKELY(IS_LIST(xs))) {
        PyObject *flat = SLOT(xs, LIST_FLAT);
        if (LIKELY(flat != NULL && flat != Py_None)) return Py_NewRef(flat);
        return sema_flatten(xs);
    } else if (IS_A(xs, T_Array) && SLOT(xs, 0) != NULL) {
        return Py_NewRef(SLOT(xs, 0));
    }
    return PyObject_GetAttr(xs, name);
}

/* Sequences and dicts of Python */

/* `o[::-1]` */
MAYBE PyObject *sema_backwards(PyObject *o) {
    if (!PyList_CheckExact(o)) return PyObject_GetItem(o, C_backwards);
    Py_ssize_t size = PyList_GET_SIZE(o);
    PyObject *made = PyList_New(size);
    for (Py_ssize_t i = 0; made != NULL && i < size; i++) {
        PyList_SET_ITEM(made, i, Py_NewRef(PyList_GET_ITEM(o, size - 1 - i)));
    }
    return made;
}

FAST Py_ssize_t sema_len(PyObject *o) {
    if (LIKELY(PyList_CheckExact(o))) return PyList_GET_SIZE(o);
    if (PyTuple_CheckExact(o)) return PyTuple_GET_SIZE(o);
    if (PyDict_CheckExact(o)) return PyDict_GET_SIZE(o);
    if (PyUnicode_CheckExact(o)) return PyUnicode_GET_LENGTH(o);
    return PyObject_Size(o);
}

MAYBE PyObject *sema_char_text(PyObject *text, Py_ssize_t at) {
    Py_UCS4 c = PyUnicode_READ_CHAR(text, at);
    return PyUnicode_FromOrdinal((int)c);
}

/* `o[i]` */
FAST PyObject *sema_item_at(PyObject *o, Py_ssize_t i) {
    if (LIKELY(PyList_CheckExact(o))) {
        Py_ssize_t at = i < 0 ? i + PyList_GET_SIZE(o) : i;
        if (LIKELY((size_t)at < (size_t)PyList_GET_SIZE(o))) return Py_NewRef(PyList_GET_ITEM(o, at));
    } else if (LIKELY(PyTuple_CheckExact(o))) {
        Py_ssize_t at = i < 0 ? i + PyTuple_GET_SIZE(o) : i;
        if (LIKELY((size_t)at < (size_t)PyTuple_GET_SIZE(o))) return Py_NewRef(PyTuple_GET_ITEM(o, at));
    } else if (PyUnicode_CheckExact(o)) {
        Py_ssize_t at = i < 0 ? i + PyUnicode_GET_LENGTH(o) : i;
        if (LIKELY((size_t)at < (size_t)PyUnicode_GET_LENGTH(o))) return sema_char_text(o, at);
    }
    PyObject *index = PyLong_FromSsize_t(i), *r = index ? PyObject_GetItem(o, index) : NULL;
    Py_XDECREF(index);
    return r;
}

FAST PyObject *sema_item_sint(PyObject *o, sint i) {
    if (LIKELY(IS_SHORT(i))) return sema_item_at(o, VALUE(i));
    return PyObject_GetItem(o, OBJECT(i));
}

FAST PyObject *sema_item(PyObject *o, PyObject *key) {
    if (PyLong_CheckExact(key) && IS_COMPACT(key) && !PyDict_CheckExact(o)) return sema_item_at(o, COMPACT(key));
    if (PyDict_CheckExact(o)) {
        PyObject *value = PyDict_GetItemWithError(o, key);
        if (LIKELY(value != NULL)) return Py_NewRef(value);
        if (PyErr_Occurred()) return NULL;
    }
    return PyObject_GetItem(o, key);
}

FAST int sema_set_item(PyObject *o, PyObject *key, PyObject *value) {
    if (LIKELY(PyDict_CheckExact(o))) return PyDict_SetItem(o, key, value);
    return PyObject_SetItem(o, key, value);
}

FAST int sema_set_item_sint(PyObject *o, sint i, PyObject *value) {
    if (LIKELY(PyList_CheckExact(o) && IS_SHORT(i))) {
        Py_ssize_t at = VALUE(i) < 0 ? VALUE(i) + PyList_GET_SIZE(o) : VALUE(i);
        if (LIKELY((size_t)at < (size_t)PyList_GET_SIZE(o))) {
            PyObject *old = PyList_GET_ITEM(o, at);
            PyList_SET_ITEM(o, at, Py_NewRef(value));
            Py_DECREF(old);
            return 0;
        }
    }
    PyObject *index = sint_box(i);
    int r = index ? PyObject_SetItem(o, index, value) : -1;
    Py_XDECREF(index);
    return r;
}

/* `d.get(key, default)` of a dict. default is borrowed. */
FAST PyObject *sema_dict_get(PyObject *d, PyObject *key, PyObject *otherwise, PyObject *name, int count) {
    if (LIKELY(PyDict_CheckExact(d))) {
        PyObject *value = PyDict_GetItemWithError(d, key);
        if (value != NULL) return Py_NewRef(value);
        return PyErr_Occurred() ? NULL : Py_NewRef(otherwise);
    }
    PyObject *args[3] = {d, key, otherwise};
    return PyObject_VectorcallMethod(name, args, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

FAST int sema_contains(PyObject *container, PyObject *value) {
    if (PyDict_CheckExact(container)) return PyDict_Contains(container, value);
    return PySequence_Contains(container, value);
}

FAST int sema_append(PyObject *list, PyObject *value, PyObject *name) {
    if (LIKELY(PyList_CheckExact(list))) return PyList_Append(list, value);
    PyObject *args[2] = {list, value};
    PyObject *done = PyObject_VectorcallMethod(name, args, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* `list.pop()` */
MAYBE PyObject *sema_pop(PyObject *list, PyObject *name) {
    if (LIKELY(PyList_CheckExact(list) && PyList_GET_SIZE(list) > 0)) {
        Py_ssize_t last = PyList_GET_SIZE(list) - 1;
        PyObject *value = PyList_GET_ITEM(list, last);
        Py_SET_SIZE(list, last);
        return value;
    }
    return PyObject_CallMethodNoArgs(list, name);
}

/* Loops over a range of ints. */
typedef struct {
    Py_ssize_t at, left, step;
    PyObject *over;
} sema_range;

/* The range of three numbers that are given away: NULL where one could not be made, as are those after it. */
COLD static int sema_range_of(sema_range *r, PyObject *a, PyObject *b, PyObject *c) {
    PyObject *range = c ? PyObject_CallFunctionObjArgs((PyObject *)&PyRange_Type, a, b, c, NULL) : NULL;
    r->over = range ? PyObject_GetIter(range) : NULL;
    r->left = 0;
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(c);
    Py_XDECREF(range);
    return r->over == NULL ? -1 : 0;
}

COLD static int sema_range_large(sema_range *r, sint start, sint stop, sint step) {
    PyObject *a = sint_box(start), *b = a ? sint_box(stop) : NULL, *c = b ? sint_box(step) : NULL;
    return sema_range_of(r, a, b, c);
}

FAST int sema_range_start(sema_range *r, sint start, sint stop, sint step) {
    r->over = NULL;
    if (UNLIKELY(((start | stop | step) & 1) || step == 0)) return sema_range_large(r, start, stop, step);
    Py_ssize_t a = VALUE(start), b = VALUE(stop), c = VALUE(step);
    r->at = a;
    r->step = c;
    if (c == 1) r->left = b > a ? b - a : 0;
    else if (c > 0) r->left = b > a ? (b - a - 1) / c + 1 : 0;
    else r->left = a > b ? (a - b - 1) / -c + 1 : 0;
    return 0;
}

/* 1 with the next number, which is short or a new reference; 0 at the end; -1 with an error. */
FAST int sema_range_next(sema_range *r, sint *value) {
    if (LIKELY(r->over == NULL)) {
        if (r->left-- <= 0) return 0;
        *value = SHORT(r->at);
        r->at += r->step;
        return 1;
    }
    PyObject *next = PyIter_Next(r->over);
    if (next == NULL) return PyErr_Occurred() ? -1 : 0;
    *value = sint_take(next);
    return 1;
}

/* Unpacking into count variables: new references. */
MAYBE int sema_unpack(PyObject *value, Py_ssize_t count, PyObject **into) {
    if (LIKELY(PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == count)) {
        for (Py_ssize_t i = 0; i < count; i++) into[i] = Py_NewRef(PyTuple_GET_ITEM(value, i));
        return 0;
    }
    if (PyList_CheckExact(value) && PyList_GET_SIZE(value) == count) {
        for (Py_ssize_t i = 0; i < count; i++) into[i] = Py_NewRef(PyList_GET_ITEM(value, i));
        return 0;
    }
    PyObject *it = PyObject_GetIter(value);
    if (it == NULL) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) && Py_TYPE(value)->tp_iter == NULL && !PySequence_Check(value)) {
            PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(value)->tp_name);
        }
        return -1;
    }
    Py_ssize_t found = 0;
    for (; found < count; found++) {
        into[found] = PyIter_Next(it);
        if (into[found] == NULL) break;
    }
    PyObject *more = found == count ? PyIter_Next(it) : NULL;
    if (more == NULL && found == count && !PyErr_Occurred()) {
        Py_DECREF(it);
        return 0;
    }
    if (more != NULL) PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %zd)", count);
    else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %zd, got %zd)", count, found);
    }
    Py_XDECREF(more);
    while (found > 0) Py_DECREF(into[--found]);
    Py_DECREF(it);
    return -1;
}
